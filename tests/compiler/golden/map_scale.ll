declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.scatter.v8f64.v8p0(<8 x double>, <8 x ptr>, <8 x i1>)
declare void @llvm.masked.store.v8f64.p0(<8 x double>, ptr, <8 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v15 = alloca [128 x i8], align 64
  %v16 = alloca [128 x i8], align 64
  %v1 = load double, ptr %params, align 8
  %v2 = load i64, ptr %sizes, align 8
  %v3 = getelementptr i8, ptr %sizes, i64 8
  %v4 = load i64, ptr %v3, align 8
  %v5 = getelementptr i8, ptr %strides, i64 16
  %v6 = load i64, ptr %v5, align 8
  %v7 = load i64, ptr %strides, align 8
  %v8 = getelementptr i8, ptr %strides, i64 24
  %v9 = load i64, ptr %v8, align 8
  %v10 = getelementptr i8, ptr %strides, i64 8
  %v11 = load i64, ptr %v10, align 8
  %v12 = getelementptr i8, ptr %data, i64 8
  %v13 = load ptr, ptr %data, align 8
  %v14 = load ptr, ptr %v12, align 8
  %v17 = icmp eq i64 %v6, 0
  %v18 = icmp eq i64 %v6, 4
  %v19 = icmp eq i64 %v7, 4
  %v20 = select i1 %v18, i64 4, i64 0
  %v21 = select i1 %v19, i64 4, i64 0
  %v22 = xor i1 %v18, true
  %v23 = xor i1 %v19, true
  %v24 = or i1 %v18, %v17
  %v25 = xor i1 %v24, true
  %v26 = xor i1 %v25, true
  %v27 = and i1 true, %v26
  %v28 = xor i1 %v23, true
  %v29 = and i1 %v27, %v28
  br i1 %v29, label %yes30, label %no30
yes30:
  %v32 = icmp slt i64 0, %v4
  br i1 %v32, label %loop31, label %done31
loop31:
  %v33 = phi i64 [ 0, %yes30 ], [ %v124, %done95 ]
  %v34 = mul i64 %v33, %v9
  %v35 = getelementptr i8, ptr %v14, i64 %v34
  %v36 = mul i64 %v33, %v11
  %v37 = getelementptr i8, ptr %v13, i64 %v36
  br i1 %v17, label %yes38, label %no38
yes38:
  %v39 = load float, ptr %v35, align 4
  %v40 = insertelement <8 x float> poison, float %v39, i64 0
  %v41 = shufflevector <8 x float> %v40, <8 x float> poison, <8 x i32> zeroinitializer
  store <8 x float> %v41, ptr %v15, align 4
  %v42 = getelementptr i8, ptr %v15, i64 32
  store <8 x float> %v41, ptr %v42, align 4
  %v43 = getelementptr i8, ptr %v15, i64 64
  store <8 x float> %v41, ptr %v43, align 4
  %v44 = getelementptr i8, ptr %v15, i64 96
  store <8 x float> %v41, ptr %v44, align 4
  br label %join38
no38:
  br label %join38
join38:
  %v45 = select i1 %v18, ptr %v35, ptr %v15
  %v46 = select i1 %v19, ptr %v37, ptr %v16
  %v47 = and i64 %v2, -32
  %v49 = icmp slt i64 0, %v47
  br i1 %v49, label %loop48, label %done48
loop48:
  %v50 = phi i64 [ 0, %join38 ], [ %v93, %loop48 ]
  %v51 = mul i64 %v50, %v20
  %v52 = getelementptr i8, ptr %v45, i64 %v51
  %v53 = load <8 x float>, ptr %v52, align 4
  %v54 = fpext <8 x float> %v53 to <8 x double>
  %v55 = insertelement <8 x double> poison, double %v1, i64 0
  %v56 = shufflevector <8 x double> %v55, <8 x double> poison, <8 x i32> zeroinitializer
  %v57 = fmul <8 x double> %v54, %v56
  %v58 = mul i64 %v50, %v20
  %v59 = getelementptr i8, ptr %v45, i64 %v58
  %v60 = getelementptr i8, ptr %v59, i64 32
  %v61 = load <8 x float>, ptr %v60, align 4
  %v62 = fpext <8 x float> %v61 to <8 x double>
  %v63 = insertelement <8 x double> poison, double %v1, i64 0
  %v64 = shufflevector <8 x double> %v63, <8 x double> poison, <8 x i32> zeroinitializer
  %v65 = fmul <8 x double> %v62, %v64
  %v66 = mul i64 %v50, %v20
  %v67 = getelementptr i8, ptr %v45, i64 %v66
  %v68 = getelementptr i8, ptr %v67, i64 64
  %v69 = load <8 x float>, ptr %v68, align 4
  %v70 = fpext <8 x float> %v69 to <8 x double>
  %v71 = insertelement <8 x double> poison, double %v1, i64 0
  %v72 = shufflevector <8 x double> %v71, <8 x double> poison, <8 x i32> zeroinitializer
  %v73 = fmul <8 x double> %v70, %v72
  %v74 = mul i64 %v50, %v20
  %v75 = getelementptr i8, ptr %v45, i64 %v74
  %v76 = getelementptr i8, ptr %v75, i64 96
  %v77 = load <8 x float>, ptr %v76, align 4
  %v78 = fpext <8 x float> %v77 to <8 x double>
  %v79 = insertelement <8 x double> poison, double %v1, i64 0
  %v80 = shufflevector <8 x double> %v79, <8 x double> poison, <8 x i32> zeroinitializer
  %v81 = fmul <8 x double> %v78, %v80
  %v82 = mul i64 %v50, %v21
  %v83 = getelementptr i8, ptr %v46, i64 %v82
  store <8 x double> %v57, ptr %v83, align 8
  %v84 = mul i64 %v50, %v21
  %v85 = getelementptr i8, ptr %v46, i64 %v84
  %v86 = getelementptr i8, ptr %v85, i64 32
  store <8 x double> %v65, ptr %v86, align 8
  %v87 = mul i64 %v50, %v21
  %v88 = getelementptr i8, ptr %v46, i64 %v87
  %v89 = getelementptr i8, ptr %v88, i64 64
  store <8 x double> %v73, ptr %v89, align 8
  %v90 = mul i64 %v50, %v21
  %v91 = getelementptr i8, ptr %v46, i64 %v90
  %v92 = getelementptr i8, ptr %v91, i64 96
  store <8 x double> %v81, ptr %v92, align 8
  %v93 = add nsw i64 %v50, 32
  %v94 = icmp slt i64 %v93, %v47
  br i1 %v94, label %loop48, label %done48
done48:
  %v96 = icmp slt i64 %v47, %v2
  br i1 %v96, label %loop95, label %done95
loop95:
  %v97 = phi i64 [ %v47, %done48 ], [ %v122, %loop95 ]
  %v98 = sub i64 %v2, %v97
  %v99 = icmp slt i64 %v98, 8
  %v100 = select i1 %v99, i64 %v98, i64 8
  %v101 = mul i64 %v97, %v20
  %v102 = getelementptr i8, ptr %v45, i64 %v101
  %v103 = icmp slt i64 %v100, 8
  %v104 = select i1 %v103, i64 %v100, i64 8
  %v105 = trunc i64 %v104 to i32
  %v106 = insertelement <8 x i32> poison, i32 %v105, i64 0
  %v107 = shufflevector <8 x i32> %v106, <8 x i32> poison, <8 x i32> zeroinitializer
  %v108 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v107
  %v109 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v102, <8 x i1> %v108, <8 x float> splat (float 0x0000000000000000))
  %v110 = fpext <8 x float> %v109 to <8 x double>
  %v111 = insertelement <8 x double> poison, double %v1, i64 0
  %v112 = shufflevector <8 x double> %v111, <8 x double> poison, <8 x i32> zeroinitializer
  %v113 = fmul <8 x double> %v110, %v112
  %v114 = mul i64 %v97, %v21
  %v115 = getelementptr i8, ptr %v46, i64 %v114
  %v116 = icmp slt i64 %v100, 8
  %v117 = select i1 %v116, i64 %v100, i64 8
  %v118 = trunc i64 %v117 to i32
  %v119 = insertelement <8 x i32> poison, i32 %v118, i64 0
  %v120 = shufflevector <8 x i32> %v119, <8 x i32> poison, <8 x i32> zeroinitializer
  %v121 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v120
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v113, ptr align 8 %v115, <8 x i1> %v121)
  %v122 = add nsw i64 %v97, 8
  %v123 = icmp slt i64 %v122, %v2
  br i1 %v123, label %loop95, label %done95
done95:
  %v124 = add nsw i64 %v33, 1
  %v125 = icmp slt i64 %v124, %v4
  br i1 %v125, label %loop31, label %done31
done31:
  br label %join30
no30:
  %v126 = getelementptr i8, ptr %strides, i64 16
  %v127 = load i64, ptr %v126, align 8
  %v128 = load i64, ptr %strides, align 8
  %v129 = getelementptr i8, ptr %data, i64 8
  %v130 = load ptr, ptr %data, align 8
  %v131 = load ptr, ptr %v129, align 8
  %v132 = load i64, ptr %sizes, align 8
  %v133 = getelementptr i8, ptr %strides, i64 16
  %v134 = load i64, ptr %v133, align 8
  %v135 = load i64, ptr %strides, align 8
  %v136 = getelementptr i8, ptr %strides, i64 24
  %v137 = load i64, ptr %v136, align 8
  %v138 = getelementptr i8, ptr %strides, i64 8
  %v139 = load i64, ptr %v138, align 8
  %v140 = getelementptr i8, ptr %sizes, i64 8
  %v141 = load i64, ptr %v140, align 8
  %v143 = icmp slt i64 0, %v141
  br i1 %v143, label %loop142, label %done142
loop142:
  %v144 = phi i64 [ 0, %no30 ], [ %v223, %done149 ]
  %v145 = mul i64 %v144, %v137
  %v146 = getelementptr i8, ptr %v131, i64 %v145
  %v147 = mul i64 %v144, %v139
  %v148 = getelementptr i8, ptr %v130, i64 %v147
  %v150 = icmp slt i64 0, %v132
  br i1 %v150, label %loop149, label %done149
loop149:
  %v151 = phi i64 [ 0, %loop142 ], [ %v221, %join209 ]
  %v152 = mul i64 %v151, %v134
  %v153 = getelementptr i8, ptr %v146, i64 %v152
  %v154 = mul i64 %v151, %v135
  %v155 = getelementptr i8, ptr %v148, i64 %v154
  %v156 = sub i64 %v132, %v151
  %v157 = icmp slt i64 %v156, 8
  %v158 = select i1 %v157, i64 %v156, i64 8
  %v159 = icmp slt i64 %v158, 8
  %v160 = select i1 %v159, i64 %v158, i64 8
  %v161 = trunc i64 %v160 to i32
  %v162 = insertelement <8 x i32> poison, i32 %v161, i64 0
  %v163 = shufflevector <8 x i32> %v162, <8 x i32> poison, <8 x i32> zeroinitializer
  %v164 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v163
  %v165 = icmp eq i64 %v127, 4
  br i1 %v165, label %yes166, label %no166
yes166:
  %v167 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v153, <8 x i1> %v164, <8 x float> splat (float 0x0000000000000000))
  br label %join166
no166:
  %v168 = icmp eq i64 %v127, 0
  br i1 %v168, label %yes169, label %no169
yes169:
  %v170 = icmp slt i64 1, 8
  %v171 = select i1 %v170, i64 1, i64 8
  %v172 = trunc i64 %v171 to i32
  %v173 = insertelement <8 x i32> poison, i32 %v172, i64 0
  %v174 = shufflevector <8 x i32> %v173, <8 x i32> poison, <8 x i32> zeroinitializer
  %v175 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v174
  %v176 = and <8 x i1> %v175, %v164
  %v177 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v153, <8 x i1> %v176, <8 x float> splat (float 0x0000000000000000))
  %v178 = extractelement <8 x float> %v177, i64 0
  %v179 = insertelement <8 x float> poison, float %v178, i64 0
  %v180 = shufflevector <8 x float> %v179, <8 x float> poison, <8 x i32> zeroinitializer
  br label %join169
no169:
  %v181 = icmp eq i64 %v127, 8
  br i1 %v181, label %yes182, label %no182
yes182:
  %v183 = shufflevector <8 x i1> %v164, <8 x i1> splat (i1 false), <8 x i32> <i32 0, i32 8, i32 1, i32 8, i32 2, i32 8, i32 3, i32 8>
  %v184 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v153, <8 x i1> %v183, <8 x float> splat (float 0x0000000000000000))
  %v185 = getelementptr i8, ptr %v153, i64 32
  %v186 = shufflevector <8 x i1> %v164, <8 x i1> splat (i1 false), <8 x i32> <i32 4, i32 8, i32 5, i32 8, i32 6, i32 8, i32 7, i32 8>
  %v187 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v185, <8 x i1> %v186, <8 x float> splat (float 0x0000000000000000))
  %v188 = shufflevector <8 x float> %v184, <8 x float> %v187, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14>
  br label %join182
no182:
  %v189 = icmp eq i64 %v127, -4
  br i1 %v189, label %yes190, label %no190
yes190:
  %v191 = getelementptr i8, ptr %v153, i64 -28
  %v192 = shufflevector <8 x i1> %v164, <8 x i1> poison, <8 x i32> <i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %v193 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v191, <8 x i1> %v192, <8 x float> splat (float 0x0000000000000000))
  %v194 = shufflevector <8 x float> %v193, <8 x float> poison, <8 x i32> <i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  br label %join190
no190:
  %v195 = insertelement <8 x i64> poison, i64 %v127, i64 0
  %v196 = shufflevector <8 x i64> %v195, <8 x i64> poison, <8 x i32> zeroinitializer
  %v197 = mul <8 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>, %v196
  %v198 = getelementptr i8, ptr %v153, <8 x i64> %v197
  %v199 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %v198, <8 x i1> %v164, <8 x float> splat (float 0x0000000000000000))
  br label %join190
join190:
  %v200 = phi <8 x float> [ %v194, %yes190 ], [ %v199, %no190 ]
  br label %join182
join182:
  %v201 = phi <8 x float> [ %v188, %yes182 ], [ %v200, %join190 ]
  br label %join169
join169:
  %v202 = phi <8 x float> [ %v180, %yes169 ], [ %v201, %join182 ]
  br label %join166
join166:
  %v203 = phi <8 x float> [ %v167, %yes166 ], [ %v202, %join169 ]
  %v204 = fpext <8 x float> %v203 to <8 x double>
  %v205 = insertelement <8 x double> poison, double %v1, i64 0
  %v206 = shufflevector <8 x double> %v205, <8 x double> poison, <8 x i32> zeroinitializer
  %v207 = fmul <8 x double> %v204, %v206
  %v208 = icmp eq i64 %v128, 8
  br i1 %v208, label %yes209, label %no209
yes209:
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v207, ptr align 8 %v155, <8 x i1> %v164)
  br label %join209
no209:
  %v210 = icmp eq i64 %v128, 16
  br i1 %v210, label %yes211, label %no211
yes211:
  %v212 = shufflevector <8 x double> %v207, <8 x double> splat (double 0x0000000000000000), <8 x i32> <i32 0, i32 8, i32 1, i32 8, i32 2, i32 8, i32 3, i32 8>
  %v213 = shufflevector <8 x i1> %v164, <8 x i1> splat (i1 false), <8 x i32> <i32 0, i32 8, i32 1, i32 8, i32 2, i32 8, i32 3, i32 8>
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v212, ptr align 8 %v155, <8 x i1> %v213)
  %v214 = getelementptr i8, ptr %v155, i64 64
  %v215 = shufflevector <8 x double> %v207, <8 x double> splat (double 0x0000000000000000), <8 x i32> <i32 4, i32 8, i32 5, i32 8, i32 6, i32 8, i32 7, i32 8>
  %v216 = shufflevector <8 x i1> %v164, <8 x i1> splat (i1 false), <8 x i32> <i32 4, i32 8, i32 5, i32 8, i32 6, i32 8, i32 7, i32 8>
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v215, ptr align 8 %v214, <8 x i1> %v216)
  br label %join211
no211:
  %v217 = insertelement <8 x i64> poison, i64 %v128, i64 0
  %v218 = shufflevector <8 x i64> %v217, <8 x i64> poison, <8 x i32> zeroinitializer
  %v219 = mul <8 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>, %v218
  %v220 = getelementptr i8, ptr %v155, <8 x i64> %v219
  call void @llvm.masked.scatter.v8f64.v8p0(<8 x double> %v207, <8 x ptr> align 8 %v220, <8 x i1> %v164)
  br label %join211
join211:
  br label %join209
join209:
  %v221 = add nsw i64 %v151, 8
  %v222 = icmp slt i64 %v221, %v132
  br i1 %v222, label %loop149, label %done149
done149:
  %v223 = add nsw i64 %v144, 1
  %v224 = icmp slt i64 %v223, %v141
  br i1 %v224, label %loop142, label %done142
done142:
  br label %join30
join30:
  ret i64 0
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

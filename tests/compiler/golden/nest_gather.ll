declare <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr>, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare i64 @llvm.cttz.i64(i64, i1 immarg)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v32 = alloca [512 x i8], align 64
  %v1 = getelementptr i8, ptr %data, i64 8
  %v2 = getelementptr i8, ptr %data, i64 16
  %v3 = load ptr, ptr %data, align 8
  %v4 = load ptr, ptr %v1, align 8
  %v5 = load ptr, ptr %v2, align 8
  %v6 = load i64, ptr %sizes, align 8
  %v7 = getelementptr i8, ptr %sizes, i64 8
  %v8 = load i64, ptr %v7, align 8
  %v9 = getelementptr i8, ptr %sizes, i64 16
  %v10 = load i64, ptr %v9, align 8
  %v11 = getelementptr i8, ptr %sizes, i64 24
  %v12 = load i64, ptr %v11, align 8
  %v13 = getelementptr i8, ptr %sizes, i64 32
  %v14 = load i64, ptr %v13, align 8
  %v15 = load i64, ptr %strides, align 8
  %v16 = getelementptr i8, ptr %strides, i64 8
  %v17 = load i64, ptr %v16, align 8
  %v18 = getelementptr i8, ptr %sizes, i64 40
  %v19 = load i64, ptr %v18, align 8
  %v20 = getelementptr i8, ptr %strides, i64 16
  %v21 = load i64, ptr %v20, align 8
  %v22 = getelementptr i8, ptr %sizes, i64 48
  %v23 = load i64, ptr %v22, align 8
  %v24 = getelementptr i8, ptr %sizes, i64 56
  %v25 = load i64, ptr %v24, align 8
  %v26 = getelementptr i8, ptr %strides, i64 24
  %v27 = load i64, ptr %v26, align 8
  %v28 = getelementptr i8, ptr %strides, i64 32
  %v29 = load i64, ptr %v28, align 8
  %v30 = icmp sle i64 %v10, 0
  br i1 %v30, label %leave31, label %go31
leave31:
  ret i64 0
go31:
  %v33 = icmp eq i64 %v17, 4
  %v34 = and i1 true, %v33
  br i1 %v34, label %yes35, label %no35
yes35:
  %v36 = mul i64 0, %v27
  %v37 = add i64 %v36, %v29
  %v39 = icmp slt i64 %v6, %v8
  br i1 %v39, label %loop38, label %done38
loop38:
  %v40 = phi i64 [ %v6, %yes35 ], [ %v188, %done58 ]
  %v41 = mul i64 %v40, %v21
  %v42 = getelementptr i8, ptr %v4, i64 %v41
  %v43 = icmp ult i64 %v40, %v19
  %v44 = and i1 true, %v43
  %v45 = xor i1 %v44, true
  br i1 %v45, label %leave46, label %go46
leave46:
  %v47 = and i64 %v40, 281474976710655
  %v48 = or i64 %v47, 281474976710656
  ret i64 %v48
go46:
  %v49 = load i64, ptr %v42, align 8
  %v50 = mul i64 %v40, %v15
  %v51 = getelementptr i8, ptr %v3, i64 %v50
  %v52 = icmp ult i64 %v40, %v12
  %v53 = and i1 true, %v52
  %v54 = mul i64 %v49, %v27
  %v55 = getelementptr i8, ptr %v5, i64 %v54
  %v56 = icmp ult i64 %v49, %v23
  %v57 = and i1 true, %v56
  %v59 = icmp slt i64 0, %v10
  br i1 %v59, label %loop58, label %done58
loop58:
  %v60 = phi i64 [ 0, %go46 ], [ %v186, %go177 ]
  %v61 = sub i64 %v10, %v60
  %v62 = icmp slt i64 %v61, 16
  %v63 = select i1 %v62, i64 %v61, i64 16
  %v64 = trunc i64 %v63 to i32
  %v65 = insertelement <16 x i32> poison, i32 %v64, i64 0
  %v66 = shufflevector <16 x i32> %v65, <16 x i32> poison, <16 x i32> zeroinitializer
  %v67 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v66
  %v68 = mul i64 %v60, %v29
  %v69 = getelementptr i8, ptr %v55, i64 %v68
  %v70 = insertelement <16 x i1> poison, i1 %v57, i64 0
  %v71 = shufflevector <16 x i1> %v70, <16 x i1> poison, <16 x i32> zeroinitializer
  %v72 = sub i64 0, %v60
  %v73 = icmp sgt i64 %v72, 0
  %v74 = select i1 %v73, i64 %v72, i64 0
  %v75 = icmp slt i64 %v74, 16
  %v76 = select i1 %v75, i64 %v74, i64 16
  %v77 = trunc i64 %v76 to i32
  %v78 = insertelement <16 x i32> poison, i32 %v77, i64 0
  %v79 = shufflevector <16 x i32> %v78, <16 x i32> poison, <16 x i32> zeroinitializer
  %v80 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v79
  %v81 = sub i64 %v25, %v60
  %v82 = icmp sgt i64 %v81, 0
  %v83 = select i1 %v82, i64 %v81, i64 0
  %v84 = icmp slt i64 %v83, 16
  %v85 = select i1 %v84, i64 %v83, i64 16
  %v86 = trunc i64 %v85 to i32
  %v87 = insertelement <16 x i32> poison, i32 %v86, i64 0
  %v88 = shufflevector <16 x i32> %v87, <16 x i32> poison, <16 x i32> zeroinitializer
  %v89 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v88
  %v90 = xor <16 x i1> %v80, splat (i1 true)
  %v91 = and <16 x i1> %v89, %v90
  %v92 = and <16 x i1> %v71, %v91
  %v93 = xor <16 x i1> %v92, splat (i1 true)
  %v94 = and <16 x i1> %v93, %v67
  %v95 = bitcast <16 x i1> %v94 to i16
  %v96 = icmp ne i16 %v95, 0
  br i1 %v96, label %leave97, label %go97
leave97:
  %v98 = bitcast <16 x i1> %v94 to i16
  %v99 = zext i16 %v98 to i64
  %v100 = call i64 @llvm.cttz.i64(i64 %v99, i1 true)
  %v101 = mul i64 %v40, %v10
  %v102 = add i64 %v60, %v100
  %v103 = add i64 %v101, %v102
  %v104 = and i64 %v103, 281474976710655
  %v105 = or i64 %v104, 281474976710656
  ret i64 %v105
go97:
  %v106 = icmp eq i64 %v37, 4
  br i1 %v106, label %yes107, label %no107
yes107:
  %v108 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v69, <16 x i1> %v67, <16 x float> splat (float 0x0000000000000000))
  br label %join107
no107:
  %v109 = icmp eq i64 %v37, 0
  br i1 %v109, label %yes110, label %no110
yes110:
  %v111 = bitcast <16 x i1> %v67 to i16
  %v112 = icmp ne i16 %v111, 0
  %v113 = select i1 %v112, i64 1, i64 0
  %v114 = icmp slt i64 %v113, 16
  %v115 = select i1 %v114, i64 %v113, i64 16
  %v116 = trunc i64 %v115 to i32
  %v117 = insertelement <16 x i32> poison, i32 %v116, i64 0
  %v118 = shufflevector <16 x i32> %v117, <16 x i32> poison, <16 x i32> zeroinitializer
  %v119 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v118
  %v120 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v69, <16 x i1> %v119, <16 x float> splat (float 0x0000000000000000))
  %v121 = extractelement <16 x float> %v120, i64 0
  %v122 = insertelement <16 x float> poison, float %v121, i64 0
  %v123 = shufflevector <16 x float> %v122, <16 x float> poison, <16 x i32> zeroinitializer
  %v124 = select <16 x i1> %v67, <16 x float> %v123, <16 x float> splat (float 0x0000000000000000)
  br label %join110
no110:
  %v125 = icmp eq i64 %v37, 8
  br i1 %v125, label %yes126, label %no126
yes126:
  %v127 = shufflevector <16 x i1> %v67, <16 x i1> splat (i1 false), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  %v128 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v69, <16 x i1> %v127, <16 x float> splat (float 0x0000000000000000))
  %v129 = getelementptr i8, ptr %v69, i64 64
  %v130 = shufflevector <16 x i1> %v67, <16 x i1> splat (i1 false), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  %v131 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v129, <16 x i1> %v130, <16 x float> splat (float 0x0000000000000000))
  %v132 = shufflevector <16 x float> %v128, <16 x float> %v131, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30>
  br label %join126
no126:
  %v133 = icmp eq i64 %v37, -4
  br i1 %v133, label %yes134, label %no134
yes134:
  %v135 = getelementptr i8, ptr %v69, i64 -60
  %v136 = shufflevector <16 x i1> %v67, <16 x i1> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %v137 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v135, <16 x i1> %v136, <16 x float> splat (float 0x0000000000000000))
  %v138 = shufflevector <16 x float> %v137, <16 x float> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  br label %join134
no134:
  %v139 = insertelement <16 x i64> poison, i64 %v37, i64 0
  %v140 = shufflevector <16 x i64> %v139, <16 x i64> poison, <16 x i32> zeroinitializer
  %v141 = mul <16 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>, %v140
  %v142 = getelementptr i8, ptr %v69, <16 x i64> %v141
  %v143 = call <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr> align 4 %v142, <16 x i1> %v67, <16 x float> splat (float 0x0000000000000000))
  br label %join134
join134:
  %v144 = phi <16 x float> [ %v138, %yes134 ], [ %v143, %no134 ]
  br label %join126
join126:
  %v145 = phi <16 x float> [ %v132, %yes126 ], [ %v144, %join134 ]
  br label %join110
join110:
  %v146 = phi <16 x float> [ %v124, %yes110 ], [ %v145, %join126 ]
  br label %join107
join107:
  %v147 = phi <16 x float> [ %v108, %yes107 ], [ %v146, %join110 ]
  %v148 = mul i64 %v60, %v17
  %v149 = getelementptr i8, ptr %v51, i64 %v148
  %v150 = insertelement <16 x i1> poison, i1 %v53, i64 0
  %v151 = shufflevector <16 x i1> %v150, <16 x i1> poison, <16 x i32> zeroinitializer
  %v152 = sub i64 0, %v60
  %v153 = icmp sgt i64 %v152, 0
  %v154 = select i1 %v153, i64 %v152, i64 0
  %v155 = icmp slt i64 %v154, 16
  %v156 = select i1 %v155, i64 %v154, i64 16
  %v157 = trunc i64 %v156 to i32
  %v158 = insertelement <16 x i32> poison, i32 %v157, i64 0
  %v159 = shufflevector <16 x i32> %v158, <16 x i32> poison, <16 x i32> zeroinitializer
  %v160 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v159
  %v161 = sub i64 %v14, %v60
  %v162 = icmp sgt i64 %v161, 0
  %v163 = select i1 %v162, i64 %v161, i64 0
  %v164 = icmp slt i64 %v163, 16
  %v165 = select i1 %v164, i64 %v163, i64 16
  %v166 = trunc i64 %v165 to i32
  %v167 = insertelement <16 x i32> poison, i32 %v166, i64 0
  %v168 = shufflevector <16 x i32> %v167, <16 x i32> poison, <16 x i32> zeroinitializer
  %v169 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v168
  %v170 = xor <16 x i1> %v160, splat (i1 true)
  %v171 = and <16 x i1> %v169, %v170
  %v172 = and <16 x i1> %v151, %v171
  %v173 = xor <16 x i1> %v172, splat (i1 true)
  %v174 = and <16 x i1> %v173, %v67
  %v175 = bitcast <16 x i1> %v174 to i16
  %v176 = icmp ne i16 %v175, 0
  br i1 %v176, label %leave177, label %go177
leave177:
  %v178 = bitcast <16 x i1> %v174 to i16
  %v179 = zext i16 %v178 to i64
  %v180 = call i64 @llvm.cttz.i64(i64 %v179, i1 true)
  %v181 = mul i64 %v40, %v10
  %v182 = add i64 %v60, %v180
  %v183 = add i64 %v181, %v182
  %v184 = and i64 %v183, 281474976710655
  %v185 = or i64 %v184, 281474976710656
  ret i64 %v185
go177:
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v147, ptr align 4 %v149, <16 x i1> %v67)
  %v186 = add nsw i64 %v60, 16
  %v187 = icmp slt i64 %v186, %v10
  br i1 %v187, label %loop58, label %done58
done58:
  %v188 = add nsw i64 %v40, 1
  %v189 = icmp slt i64 %v188, %v8
  br i1 %v189, label %loop38, label %done38
done38:
  br label %join35
no35:
  %v191 = icmp slt i64 %v6, %v8
  br i1 %v191, label %loop190, label %done190
loop190:
  %v192 = phi i64 [ %v6, %no35 ], [ %v236, %done210 ]
  %v193 = mul i64 %v192, %v21
  %v194 = getelementptr i8, ptr %v4, i64 %v193
  %v195 = icmp ult i64 %v192, %v19
  %v196 = and i1 true, %v195
  %v197 = xor i1 %v196, true
  br i1 %v197, label %leave198, label %go198
leave198:
  %v199 = and i64 %v192, 281474976710655
  %v200 = or i64 %v199, 281474976710656
  ret i64 %v200
go198:
  %v201 = load i64, ptr %v194, align 8
  %v202 = mul i64 %v192, %v15
  %v203 = getelementptr i8, ptr %v3, i64 %v202
  %v204 = icmp ult i64 %v192, %v12
  %v205 = and i1 true, %v204
  %v206 = mul i64 %v201, %v27
  %v207 = getelementptr i8, ptr %v5, i64 %v206
  %v208 = icmp ult i64 %v201, %v23
  %v209 = and i1 true, %v208
  %v211 = icmp slt i64 0, %v10
  br i1 %v211, label %loop210, label %done210
loop210:
  %v212 = phi i64 [ 0, %go198 ], [ %v234, %go229 ]
  %v213 = mul i64 %v212, %v29
  %v214 = getelementptr i8, ptr %v207, i64 %v213
  %v215 = icmp ult i64 %v212, %v25
  %v216 = and i1 %v209, %v215
  %v217 = xor i1 %v216, true
  br i1 %v217, label %leave218, label %go218
leave218:
  %v219 = mul i64 %v192, %v10
  %v220 = add i64 %v219, %v212
  %v221 = and i64 %v220, 281474976710655
  %v222 = or i64 %v221, 281474976710656
  ret i64 %v222
go218:
  %v223 = load float, ptr %v214, align 4
  %v224 = mul i64 %v212, %v17
  %v225 = getelementptr i8, ptr %v203, i64 %v224
  %v226 = icmp ult i64 %v212, %v14
  %v227 = and i1 %v205, %v226
  %v228 = xor i1 %v227, true
  br i1 %v228, label %leave229, label %go229
leave229:
  %v230 = mul i64 %v192, %v10
  %v231 = add i64 %v230, %v212
  %v232 = and i64 %v231, 281474976710655
  %v233 = or i64 %v232, 281474976710656
  ret i64 %v233
go229:
  store float %v223, ptr %v225, align 4
  %v234 = add nsw i64 %v212, 1
  %v235 = icmp slt i64 %v234, %v10
  br i1 %v235, label %loop210, label %done210
done210:
  %v236 = add nsw i64 %v192, 1
  %v237 = icmp slt i64 %v236, %v8
  br i1 %v237, label %loop190, label %done190
done190:
  br label %join35
join35:
  ret i64 0
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

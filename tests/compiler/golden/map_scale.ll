declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f64.p0(<8 x double>, ptr, <8 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v15 = alloca [128 x i8], align 64
  %v16 = alloca [128 x i8], align 64
  %v141 = alloca [2048 x i8], align 64
  %v142 = alloca [2048 x i8], align 64
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
  %v126 = load i64, ptr %sizes, align 8
  %v127 = getelementptr i8, ptr %sizes, i64 8
  %v128 = load i64, ptr %v127, align 8
  %v129 = getelementptr i8, ptr %strides, i64 16
  %v130 = load i64, ptr %v129, align 8
  %v131 = load i64, ptr %strides, align 8
  %v132 = getelementptr i8, ptr %strides, i64 24
  %v133 = load i64, ptr %v132, align 8
  %v134 = getelementptr i8, ptr %strides, i64 8
  %v135 = load i64, ptr %v134, align 8
  %v136 = getelementptr i8, ptr %data, i64 8
  %v137 = load ptr, ptr %data, align 8
  %v138 = load ptr, ptr %v136, align 8
  %v139 = icmp eq i64 %v130, 4
  %v140 = icmp eq i64 %v131, 4
  %v144 = icmp slt i64 0, %v128
  br i1 %v144, label %loop143, label %done143
loop143:
  %v145 = phi i64 [ 0, %no30 ], [ %v199, %done149 ]
  %v146 = sub i64 %v128, %v145
  %v147 = icmp slt i64 %v146, 64
  %v148 = select i1 %v147, i64 %v146, i64 64
  %v150 = icmp slt i64 0, %v126
  br i1 %v150, label %loop149, label %done149
loop149:
  %v151 = phi i64 [ 0, %loop143 ], [ %v197, %join196 ]
  %v152 = sub i64 %v126, %v151
  %v153 = icmp slt i64 %v152, 8
  %v154 = select i1 %v153, i64 %v152, i64 8
  %v155 = mul i64 %v145, %v133
  %v156 = getelementptr i8, ptr %v138, i64 %v155
  %v157 = mul i64 %v151, %v130
  %v158 = getelementptr i8, ptr %v156, i64 %v157
  %v159 = mul i64 %v145, %v135
  %v160 = getelementptr i8, ptr %v137, i64 %v159
  %v161 = mul i64 %v151, %v131
  %v162 = getelementptr i8, ptr %v160, i64 %v161
  %v163 = xor i1 %v139, true
  br i1 %v163, label %yes164, label %no164
yes164:
  call void @copy_block32(ptr %v158, ptr %v141, i64 %v130, i64 %v133, i64 4, i64 32, i64 %v154, i64 %v148)
  br label %join164
no164:
  br label %join164
join164:
  %v165 = select i1 %v139, ptr %v158, ptr %v141
  %v166 = select i1 %v139, i64 %v133, i64 32
  %v167 = select i1 %v140, ptr %v162, ptr %v142
  %v168 = select i1 %v140, i64 %v135, i64 32
  %v170 = icmp slt i64 0, %v148
  br i1 %v170, label %loop169, label %done169
loop169:
  %v171 = phi i64 [ 0, %join164 ], [ %v193, %loop169 ]
  %v172 = mul i64 %v171, %v166
  %v173 = getelementptr i8, ptr %v165, i64 %v172
  %v174 = mul i64 %v171, %v168
  %v175 = getelementptr i8, ptr %v167, i64 %v174
  %v176 = icmp slt i64 %v154, 8
  %v177 = select i1 %v176, i64 %v154, i64 8
  %v178 = trunc i64 %v177 to i32
  %v179 = insertelement <8 x i32> poison, i32 %v178, i64 0
  %v180 = shufflevector <8 x i32> %v179, <8 x i32> poison, <8 x i32> zeroinitializer
  %v181 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v180
  %v182 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v173, <8 x i1> %v181, <8 x float> splat (float 0x0000000000000000))
  %v183 = fpext <8 x float> %v182 to <8 x double>
  %v184 = insertelement <8 x double> poison, double %v1, i64 0
  %v185 = shufflevector <8 x double> %v184, <8 x double> poison, <8 x i32> zeroinitializer
  %v186 = fmul <8 x double> %v183, %v185
  %v187 = icmp slt i64 %v154, 8
  %v188 = select i1 %v187, i64 %v154, i64 8
  %v189 = trunc i64 %v188 to i32
  %v190 = insertelement <8 x i32> poison, i32 %v189, i64 0
  %v191 = shufflevector <8 x i32> %v190, <8 x i32> poison, <8 x i32> zeroinitializer
  %v192 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v191
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v186, ptr align 8 %v175, <8 x i1> %v192)
  %v193 = add nsw i64 %v171, 1
  %v194 = icmp slt i64 %v193, %v148
  br i1 %v194, label %loop169, label %done169
done169:
  %v195 = xor i1 %v140, true
  br i1 %v195, label %yes196, label %no196
yes196:
  call void @copy_block32(ptr %v142, ptr %v162, i64 4, i64 32, i64 %v131, i64 %v135, i64 %v154, i64 %v148)
  br label %join196
no196:
  br label %join196
join196:
  %v197 = add nsw i64 %v151, 8
  %v198 = icmp slt i64 %v197, %v126
  br i1 %v198, label %loop149, label %done149
done149:
  %v199 = add nsw i64 %v145, 64
  %v200 = icmp slt i64 %v199, %v128
  br i1 %v200, label %loop143, label %done143
done143:
  br label %join30
join30:
  ret i64 0
}

define internal void @copy_block32(ptr %s, ptr %t, i64 %s_step, i64 %s_row, i64 %t_step, i64 %t_row, i64 %columns, i64 %rows) #0 {
entry:
  %v1 = mul i64 %s_row, %s_row
  %v2 = mul i64 %s_step, %s_step
  %v3 = icmp slt i64 %v1, %v2
  %v4 = select i1 %v3, i64 %s_row, i64 %s_step
  %v5 = select i1 %v3, i64 %t_row, i64 %t_step
  %v6 = select i1 %v3, i64 %rows, i64 %columns
  %v7 = select i1 %v3, i64 %s_step, i64 %s_row
  %v8 = select i1 %v3, i64 %t_step, i64 %t_row
  %v9 = select i1 %v3, i64 %columns, i64 %rows
  %v11 = icmp slt i64 0, %v9
  br i1 %v11, label %loop10, label %done10
loop10:
  %v12 = phi i64 [ 0, %entry ], [ %v27, %done17 ]
  %v13 = mul i64 %v12, %v7
  %v14 = getelementptr i8, ptr %s, i64 %v13
  %v15 = mul i64 %v12, %v8
  %v16 = getelementptr i8, ptr %t, i64 %v15
  %v18 = icmp slt i64 0, %v6
  br i1 %v18, label %loop17, label %done17
loop17:
  %v19 = phi i64 [ 0, %loop10 ], [ %v25, %loop17 ]
  %v20 = mul i64 %v19, %v4
  %v21 = getelementptr i8, ptr %v14, i64 %v20
  %v22 = load i32, ptr %v21, align 4
  %v23 = mul i64 %v19, %v5
  %v24 = getelementptr i8, ptr %v16, i64 %v23
  store i32 %v22, ptr %v24, align 4
  %v25 = add nsw i64 %v19, 1
  %v26 = icmp slt i64 %v25, %v6
  br i1 %v26, label %loop17, label %done17
done17:
  %v27 = add nsw i64 %v12, 1
  %v28 = icmp slt i64 %v27, %v9
  br i1 %v28, label %loop10, label %done10
done10:
  ret void
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

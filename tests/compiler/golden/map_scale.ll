declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f64.p0(<8 x double>, ptr, <8 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v15 = alloca [128 x i8], align 64
  %v16 = alloca [128 x i8], align 64
  %v140 = alloca [2048 x i8], align 64
  %v141 = alloca [2048 x i8], align 64
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
  %v22 = or i1 %v18, %v17
  %v23 = xor i1 %v22, true
  %v24 = xor i1 %v19, true
  %v25 = xor i1 %v23, true
  %v26 = and i1 true, %v25
  %v27 = xor i1 %v24, true
  %v28 = and i1 %v26, %v27
  br i1 %v28, label %yes29, label %no29
yes29:
  %v31 = icmp slt i64 0, %v4
  br i1 %v31, label %loop30, label %done30
loop30:
  %v32 = phi i64 [ 0, %yes29 ], [ %v123, %done94 ]
  %v33 = mul i64 %v32, %v9
  %v34 = getelementptr i8, ptr %v14, i64 %v33
  %v35 = mul i64 %v32, %v11
  %v36 = getelementptr i8, ptr %v13, i64 %v35
  br i1 %v17, label %yes37, label %no37
yes37:
  %v38 = load float, ptr %v34, align 4
  %v39 = insertelement <8 x float> poison, float %v38, i64 0
  %v40 = shufflevector <8 x float> %v39, <8 x float> poison, <8 x i32> zeroinitializer
  store <8 x float> %v40, ptr %v15, align 4
  %v41 = getelementptr i8, ptr %v15, i64 32
  store <8 x float> %v40, ptr %v41, align 4
  %v42 = getelementptr i8, ptr %v15, i64 64
  store <8 x float> %v40, ptr %v42, align 4
  %v43 = getelementptr i8, ptr %v15, i64 96
  store <8 x float> %v40, ptr %v43, align 4
  br label %join37
no37:
  br label %join37
join37:
  %v44 = select i1 %v18, ptr %v34, ptr %v15
  %v45 = select i1 %v19, ptr %v36, ptr %v16
  %v46 = and i64 %v2, -32
  %v48 = icmp slt i64 0, %v46
  br i1 %v48, label %loop47, label %done47
loop47:
  %v49 = phi i64 [ 0, %join37 ], [ %v92, %loop47 ]
  %v50 = mul i64 %v49, %v20
  %v51 = getelementptr i8, ptr %v44, i64 %v50
  %v52 = load <8 x float>, ptr %v51, align 4
  %v53 = fpext <8 x float> %v52 to <8 x double>
  %v54 = insertelement <8 x double> poison, double %v1, i64 0
  %v55 = shufflevector <8 x double> %v54, <8 x double> poison, <8 x i32> zeroinitializer
  %v56 = fmul <8 x double> %v53, %v55
  %v57 = mul i64 %v49, %v20
  %v58 = getelementptr i8, ptr %v44, i64 %v57
  %v59 = getelementptr i8, ptr %v58, i64 32
  %v60 = load <8 x float>, ptr %v59, align 4
  %v61 = fpext <8 x float> %v60 to <8 x double>
  %v62 = insertelement <8 x double> poison, double %v1, i64 0
  %v63 = shufflevector <8 x double> %v62, <8 x double> poison, <8 x i32> zeroinitializer
  %v64 = fmul <8 x double> %v61, %v63
  %v65 = mul i64 %v49, %v20
  %v66 = getelementptr i8, ptr %v44, i64 %v65
  %v67 = getelementptr i8, ptr %v66, i64 64
  %v68 = load <8 x float>, ptr %v67, align 4
  %v69 = fpext <8 x float> %v68 to <8 x double>
  %v70 = insertelement <8 x double> poison, double %v1, i64 0
  %v71 = shufflevector <8 x double> %v70, <8 x double> poison, <8 x i32> zeroinitializer
  %v72 = fmul <8 x double> %v69, %v71
  %v73 = mul i64 %v49, %v20
  %v74 = getelementptr i8, ptr %v44, i64 %v73
  %v75 = getelementptr i8, ptr %v74, i64 96
  %v76 = load <8 x float>, ptr %v75, align 4
  %v77 = fpext <8 x float> %v76 to <8 x double>
  %v78 = insertelement <8 x double> poison, double %v1, i64 0
  %v79 = shufflevector <8 x double> %v78, <8 x double> poison, <8 x i32> zeroinitializer
  %v80 = fmul <8 x double> %v77, %v79
  %v81 = mul i64 %v49, %v21
  %v82 = getelementptr i8, ptr %v45, i64 %v81
  store <8 x double> %v56, ptr %v82, align 8
  %v83 = mul i64 %v49, %v21
  %v84 = getelementptr i8, ptr %v45, i64 %v83
  %v85 = getelementptr i8, ptr %v84, i64 32
  store <8 x double> %v64, ptr %v85, align 8
  %v86 = mul i64 %v49, %v21
  %v87 = getelementptr i8, ptr %v45, i64 %v86
  %v88 = getelementptr i8, ptr %v87, i64 64
  store <8 x double> %v72, ptr %v88, align 8
  %v89 = mul i64 %v49, %v21
  %v90 = getelementptr i8, ptr %v45, i64 %v89
  %v91 = getelementptr i8, ptr %v90, i64 96
  store <8 x double> %v80, ptr %v91, align 8
  %v92 = add nsw i64 %v49, 32
  %v93 = icmp slt i64 %v92, %v46
  br i1 %v93, label %loop47, label %done47
done47:
  %v95 = icmp slt i64 %v46, %v2
  br i1 %v95, label %loop94, label %done94
loop94:
  %v96 = phi i64 [ %v46, %done47 ], [ %v121, %loop94 ]
  %v97 = sub i64 %v2, %v96
  %v98 = icmp slt i64 %v97, 8
  %v99 = select i1 %v98, i64 %v97, i64 8
  %v100 = mul i64 %v96, %v20
  %v101 = getelementptr i8, ptr %v44, i64 %v100
  %v102 = icmp slt i64 %v99, 8
  %v103 = select i1 %v102, i64 %v99, i64 8
  %v104 = trunc i64 %v103 to i32
  %v105 = insertelement <8 x i32> poison, i32 %v104, i64 0
  %v106 = shufflevector <8 x i32> %v105, <8 x i32> poison, <8 x i32> zeroinitializer
  %v107 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v106
  %v108 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v101, <8 x i1> %v107, <8 x float> splat (float 0x0000000000000000))
  %v109 = fpext <8 x float> %v108 to <8 x double>
  %v110 = insertelement <8 x double> poison, double %v1, i64 0
  %v111 = shufflevector <8 x double> %v110, <8 x double> poison, <8 x i32> zeroinitializer
  %v112 = fmul <8 x double> %v109, %v111
  %v113 = mul i64 %v96, %v21
  %v114 = getelementptr i8, ptr %v45, i64 %v113
  %v115 = icmp slt i64 %v99, 8
  %v116 = select i1 %v115, i64 %v99, i64 8
  %v117 = trunc i64 %v116 to i32
  %v118 = insertelement <8 x i32> poison, i32 %v117, i64 0
  %v119 = shufflevector <8 x i32> %v118, <8 x i32> poison, <8 x i32> zeroinitializer
  %v120 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v119
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v112, ptr align 8 %v114, <8 x i1> %v120)
  %v121 = add nsw i64 %v96, 8
  %v122 = icmp slt i64 %v121, %v2
  br i1 %v122, label %loop94, label %done94
done94:
  %v123 = add nsw i64 %v32, 1
  %v124 = icmp slt i64 %v123, %v4
  br i1 %v124, label %loop30, label %done30
done30:
  br label %join29
no29:
  %v125 = load i64, ptr %sizes, align 8
  %v126 = getelementptr i8, ptr %sizes, i64 8
  %v127 = load i64, ptr %v126, align 8
  %v128 = getelementptr i8, ptr %strides, i64 16
  %v129 = load i64, ptr %v128, align 8
  %v130 = load i64, ptr %strides, align 8
  %v131 = getelementptr i8, ptr %strides, i64 24
  %v132 = load i64, ptr %v131, align 8
  %v133 = getelementptr i8, ptr %strides, i64 8
  %v134 = load i64, ptr %v133, align 8
  %v135 = getelementptr i8, ptr %data, i64 8
  %v136 = load ptr, ptr %data, align 8
  %v137 = load ptr, ptr %v135, align 8
  %v138 = icmp eq i64 %v129, 4
  %v139 = icmp eq i64 %v130, 4
  %v143 = icmp slt i64 0, %v127
  br i1 %v143, label %loop142, label %done142
loop142:
  %v144 = phi i64 [ 0, %no29 ], [ %v198, %done148 ]
  %v145 = sub i64 %v127, %v144
  %v146 = icmp slt i64 %v145, 64
  %v147 = select i1 %v146, i64 %v145, i64 64
  %v149 = icmp slt i64 0, %v125
  br i1 %v149, label %loop148, label %done148
loop148:
  %v150 = phi i64 [ 0, %loop142 ], [ %v196, %join195 ]
  %v151 = sub i64 %v125, %v150
  %v152 = icmp slt i64 %v151, 8
  %v153 = select i1 %v152, i64 %v151, i64 8
  %v154 = mul i64 %v144, %v132
  %v155 = getelementptr i8, ptr %v137, i64 %v154
  %v156 = mul i64 %v150, %v129
  %v157 = getelementptr i8, ptr %v155, i64 %v156
  %v158 = mul i64 %v144, %v134
  %v159 = getelementptr i8, ptr %v136, i64 %v158
  %v160 = mul i64 %v150, %v130
  %v161 = getelementptr i8, ptr %v159, i64 %v160
  %v162 = xor i1 %v138, true
  br i1 %v162, label %yes163, label %no163
yes163:
  call void @copy_block32(ptr %v157, ptr %v140, i64 %v129, i64 %v132, i64 4, i64 32, i64 %v153, i64 %v147)
  br label %join163
no163:
  br label %join163
join163:
  %v164 = select i1 %v138, ptr %v157, ptr %v140
  %v165 = select i1 %v138, i64 %v132, i64 32
  %v166 = select i1 %v139, ptr %v161, ptr %v141
  %v167 = select i1 %v139, i64 %v134, i64 32
  %v169 = icmp slt i64 0, %v147
  br i1 %v169, label %loop168, label %done168
loop168:
  %v170 = phi i64 [ 0, %join163 ], [ %v192, %loop168 ]
  %v171 = mul i64 %v170, %v165
  %v172 = getelementptr i8, ptr %v164, i64 %v171
  %v173 = mul i64 %v170, %v167
  %v174 = getelementptr i8, ptr %v166, i64 %v173
  %v175 = icmp slt i64 %v153, 8
  %v176 = select i1 %v175, i64 %v153, i64 8
  %v177 = trunc i64 %v176 to i32
  %v178 = insertelement <8 x i32> poison, i32 %v177, i64 0
  %v179 = shufflevector <8 x i32> %v178, <8 x i32> poison, <8 x i32> zeroinitializer
  %v180 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v179
  %v181 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v172, <8 x i1> %v180, <8 x float> splat (float 0x0000000000000000))
  %v182 = fpext <8 x float> %v181 to <8 x double>
  %v183 = insertelement <8 x double> poison, double %v1, i64 0
  %v184 = shufflevector <8 x double> %v183, <8 x double> poison, <8 x i32> zeroinitializer
  %v185 = fmul <8 x double> %v182, %v184
  %v186 = icmp slt i64 %v153, 8
  %v187 = select i1 %v186, i64 %v153, i64 8
  %v188 = trunc i64 %v187 to i32
  %v189 = insertelement <8 x i32> poison, i32 %v188, i64 0
  %v190 = shufflevector <8 x i32> %v189, <8 x i32> poison, <8 x i32> zeroinitializer
  %v191 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v190
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v185, ptr align 8 %v174, <8 x i1> %v191)
  %v192 = add nsw i64 %v170, 1
  %v193 = icmp slt i64 %v192, %v147
  br i1 %v193, label %loop168, label %done168
done168:
  %v194 = xor i1 %v139, true
  br i1 %v194, label %yes195, label %no195
yes195:
  call void @copy_block32(ptr %v141, ptr %v161, i64 4, i64 32, i64 %v130, i64 %v134, i64 %v153, i64 %v147)
  br label %join195
no195:
  br label %join195
join195:
  %v196 = add nsw i64 %v150, 8
  %v197 = icmp slt i64 %v196, %v125
  br i1 %v197, label %loop148, label %done148
done148:
  %v198 = add nsw i64 %v144, 64
  %v199 = icmp slt i64 %v198, %v127
  br i1 %v199, label %loop142, label %done142
done142:
  br label %join29
join29:
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

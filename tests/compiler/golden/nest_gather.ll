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
  %v33 = icmp eq i64 %v29, 4
  %v34 = and i1 true, %v33
  %v35 = icmp eq i64 %v17, 4
  %v36 = and i1 %v34, %v35
  br i1 %v36, label %yes37, label %no37
yes37:
  %v39 = icmp slt i64 %v6, %v8
  br i1 %v39, label %loop38, label %done38
loop38:
  %v40 = phi i64 [ %v6, %yes37 ], [ %v149, %done59 ]
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
  %v49 = select i1 %v44, ptr %v42, ptr %v32
  %v50 = load i64, ptr %v49, align 8
  %v51 = mul i64 %v40, %v15
  %v52 = getelementptr i8, ptr %v3, i64 %v51
  %v53 = icmp ult i64 %v40, %v12
  %v54 = and i1 true, %v53
  %v55 = mul i64 %v50, %v27
  %v56 = getelementptr i8, ptr %v5, i64 %v55
  %v57 = icmp ult i64 %v50, %v23
  %v58 = and i1 true, %v57
  %v60 = icmp slt i64 0, %v10
  br i1 %v60, label %loop59, label %done59
loop59:
  %v61 = phi i64 [ 0, %go46 ], [ %v147, %go138 ]
  %v62 = sub i64 %v10, %v61
  %v63 = icmp slt i64 %v62, 16
  %v64 = select i1 %v63, i64 %v62, i64 16
  %v65 = trunc i64 %v64 to i32
  %v66 = insertelement <16 x i32> poison, i32 %v65, i64 0
  %v67 = shufflevector <16 x i32> %v66, <16 x i32> poison, <16 x i32> zeroinitializer
  %v68 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v67
  %v69 = mul i64 %v61, %v29
  %v70 = getelementptr i8, ptr %v56, i64 %v69
  %v71 = insertelement <16 x i1> poison, i1 %v58, i64 0
  %v72 = shufflevector <16 x i1> %v71, <16 x i1> poison, <16 x i32> zeroinitializer
  %v73 = sub i64 0, %v61
  %v74 = icmp sgt i64 %v73, 0
  %v75 = select i1 %v74, i64 %v73, i64 0
  %v76 = icmp slt i64 %v75, 16
  %v77 = select i1 %v76, i64 %v75, i64 16
  %v78 = trunc i64 %v77 to i32
  %v79 = insertelement <16 x i32> poison, i32 %v78, i64 0
  %v80 = shufflevector <16 x i32> %v79, <16 x i32> poison, <16 x i32> zeroinitializer
  %v81 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v80
  %v82 = sub i64 %v25, %v61
  %v83 = icmp sgt i64 %v82, 0
  %v84 = select i1 %v83, i64 %v82, i64 0
  %v85 = icmp slt i64 %v84, 16
  %v86 = select i1 %v85, i64 %v84, i64 16
  %v87 = trunc i64 %v86 to i32
  %v88 = insertelement <16 x i32> poison, i32 %v87, i64 0
  %v89 = shufflevector <16 x i32> %v88, <16 x i32> poison, <16 x i32> zeroinitializer
  %v90 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v89
  %v91 = xor <16 x i1> %v81, splat (i1 true)
  %v92 = and <16 x i1> %v90, %v91
  %v93 = and <16 x i1> %v72, %v92
  %v94 = xor <16 x i1> %v93, splat (i1 true)
  %v95 = and <16 x i1> %v94, %v68
  %v96 = bitcast <16 x i1> %v95 to i16
  %v97 = icmp ne i16 %v96, 0
  br i1 %v97, label %leave98, label %go98
leave98:
  %v99 = bitcast <16 x i1> %v95 to i16
  %v100 = zext i16 %v99 to i64
  %v101 = call i64 @llvm.cttz.i64(i64 %v100, i1 true)
  %v102 = mul i64 %v40, %v10
  %v103 = add i64 %v61, %v101
  %v104 = add i64 %v102, %v103
  %v105 = and i64 %v104, 281474976710655
  %v106 = or i64 %v105, 281474976710656
  ret i64 %v106
go98:
  %v107 = and <16 x i1> %v93, %v68
  %v108 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v70, <16 x i1> %v107, <16 x float> splat (float 0x0000000000000000))
  %v109 = mul i64 %v61, %v17
  %v110 = getelementptr i8, ptr %v52, i64 %v109
  %v111 = insertelement <16 x i1> poison, i1 %v54, i64 0
  %v112 = shufflevector <16 x i1> %v111, <16 x i1> poison, <16 x i32> zeroinitializer
  %v113 = sub i64 0, %v61
  %v114 = icmp sgt i64 %v113, 0
  %v115 = select i1 %v114, i64 %v113, i64 0
  %v116 = icmp slt i64 %v115, 16
  %v117 = select i1 %v116, i64 %v115, i64 16
  %v118 = trunc i64 %v117 to i32
  %v119 = insertelement <16 x i32> poison, i32 %v118, i64 0
  %v120 = shufflevector <16 x i32> %v119, <16 x i32> poison, <16 x i32> zeroinitializer
  %v121 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v120
  %v122 = sub i64 %v14, %v61
  %v123 = icmp sgt i64 %v122, 0
  %v124 = select i1 %v123, i64 %v122, i64 0
  %v125 = icmp slt i64 %v124, 16
  %v126 = select i1 %v125, i64 %v124, i64 16
  %v127 = trunc i64 %v126 to i32
  %v128 = insertelement <16 x i32> poison, i32 %v127, i64 0
  %v129 = shufflevector <16 x i32> %v128, <16 x i32> poison, <16 x i32> zeroinitializer
  %v130 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v129
  %v131 = xor <16 x i1> %v121, splat (i1 true)
  %v132 = and <16 x i1> %v130, %v131
  %v133 = and <16 x i1> %v112, %v132
  %v134 = xor <16 x i1> %v133, splat (i1 true)
  %v135 = and <16 x i1> %v134, %v68
  %v136 = bitcast <16 x i1> %v135 to i16
  %v137 = icmp ne i16 %v136, 0
  br i1 %v137, label %leave138, label %go138
leave138:
  %v139 = bitcast <16 x i1> %v135 to i16
  %v140 = zext i16 %v139 to i64
  %v141 = call i64 @llvm.cttz.i64(i64 %v140, i1 true)
  %v142 = mul i64 %v40, %v10
  %v143 = add i64 %v61, %v141
  %v144 = add i64 %v142, %v143
  %v145 = and i64 %v144, 281474976710655
  %v146 = or i64 %v145, 281474976710656
  ret i64 %v146
go138:
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v108, ptr align 4 %v110, <16 x i1> %v68)
  %v147 = add nsw i64 %v61, 16
  %v148 = icmp slt i64 %v147, %v10
  br i1 %v148, label %loop59, label %done59
done59:
  %v149 = add nsw i64 %v40, 1
  %v150 = icmp slt i64 %v149, %v8
  br i1 %v150, label %loop38, label %done38
done38:
  br label %join37
no37:
  %v152 = icmp slt i64 %v6, %v8
  br i1 %v152, label %loop151, label %done151
loop151:
  %v153 = phi i64 [ %v6, %no37 ], [ %v199, %done172 ]
  %v154 = mul i64 %v153, %v21
  %v155 = getelementptr i8, ptr %v4, i64 %v154
  %v156 = icmp ult i64 %v153, %v19
  %v157 = and i1 true, %v156
  %v158 = xor i1 %v157, true
  br i1 %v158, label %leave159, label %go159
leave159:
  %v160 = and i64 %v153, 281474976710655
  %v161 = or i64 %v160, 281474976710656
  ret i64 %v161
go159:
  %v162 = select i1 %v157, ptr %v155, ptr %v32
  %v163 = load i64, ptr %v162, align 8
  %v164 = mul i64 %v153, %v15
  %v165 = getelementptr i8, ptr %v3, i64 %v164
  %v166 = icmp ult i64 %v153, %v12
  %v167 = and i1 true, %v166
  %v168 = mul i64 %v163, %v27
  %v169 = getelementptr i8, ptr %v5, i64 %v168
  %v170 = icmp ult i64 %v163, %v23
  %v171 = and i1 true, %v170
  %v173 = icmp slt i64 0, %v10
  br i1 %v173, label %loop172, label %done172
loop172:
  %v174 = phi i64 [ 0, %go159 ], [ %v197, %go192 ]
  %v175 = mul i64 %v174, %v29
  %v176 = getelementptr i8, ptr %v169, i64 %v175
  %v177 = icmp ult i64 %v174, %v25
  %v178 = and i1 %v171, %v177
  %v179 = xor i1 %v178, true
  br i1 %v179, label %leave180, label %go180
leave180:
  %v181 = mul i64 %v153, %v10
  %v182 = add i64 %v181, %v174
  %v183 = and i64 %v182, 281474976710655
  %v184 = or i64 %v183, 281474976710656
  ret i64 %v184
go180:
  %v185 = select i1 %v178, ptr %v176, ptr %v32
  %v186 = load float, ptr %v185, align 4
  %v187 = mul i64 %v174, %v17
  %v188 = getelementptr i8, ptr %v165, i64 %v187
  %v189 = icmp ult i64 %v174, %v14
  %v190 = and i1 %v167, %v189
  %v191 = xor i1 %v190, true
  br i1 %v191, label %leave192, label %go192
leave192:
  %v193 = mul i64 %v153, %v10
  %v194 = add i64 %v193, %v174
  %v195 = and i64 %v194, 281474976710655
  %v196 = or i64 %v195, 281474976710656
  ret i64 %v196
go192:
  store float %v186, ptr %v188, align 4
  %v197 = add nsw i64 %v174, 1
  %v198 = icmp slt i64 %v197, %v10
  br i1 %v198, label %loop172, label %done172
done172:
  %v199 = add nsw i64 %v153, 1
  %v200 = icmp slt i64 %v199, %v8
  br i1 %v200, label %loop151, label %done151
done151:
  br label %join37
join37:
  ret i64 0
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

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
  %v40 = phi i64 [ %v6, %yes37 ], [ %v173, %done55 ]
  %v41 = mul i64 %v40, %v21
  %v42 = icmp ult i64 %v40, %v19
  %v43 = getelementptr i8, ptr %v4, i64 %v41
  %v44 = and i1 true, %v42
  %v45 = xor i1 %v44, true
  br i1 %v45, label %leave46, label %go46
leave46:
  %v47 = and i64 %v40, 281474976710655
  %v48 = or i64 %v47, 281474976710656
  ret i64 %v48
go46:
  %v49 = select i1 %v44, ptr %v43, ptr %v32
  %v50 = load i64, ptr %v49, align 8
  %v51 = mul i64 %v40, %v15
  %v52 = icmp ult i64 %v40, %v12
  %v53 = mul i64 %v50, %v27
  %v54 = icmp ult i64 %v50, %v23
  %v56 = icmp slt i64 0, %v10
  br i1 %v56, label %loop55, label %done55
loop55:
  %v57 = phi i64 [ 0, %go46 ], [ %v171, %go156 ]
  %v58 = sub i64 %v10, %v57
  %v59 = icmp slt i64 %v58, 16
  %v60 = select i1 %v59, i64 %v58, i64 16
  %v61 = getelementptr i8, ptr %v5, i64 %v53
  %v62 = and i1 true, %v54
  %v63 = mul i64 %v57, %v29
  %v64 = icmp ult i64 %v57, %v25
  %v65 = getelementptr i8, ptr %v61, i64 %v63
  %v66 = insertelement <16 x i1> poison, i1 %v62, i64 0
  %v67 = shufflevector <16 x i1> %v66, <16 x i1> poison, <16 x i32> zeroinitializer
  %v68 = sub i64 0, %v57
  %v69 = icmp sgt i64 %v68, 0
  %v70 = select i1 %v69, i64 %v68, i64 0
  %v71 = icmp slt i64 %v70, 16
  %v72 = select i1 %v71, i64 %v70, i64 16
  %v73 = sub i64 %v25, %v57
  %v74 = icmp sgt i64 %v73, 0
  %v75 = select i1 %v74, i64 %v73, i64 0
  %v76 = icmp slt i64 %v75, 16
  %v77 = select i1 %v76, i64 %v75, i64 16
  %v78 = icmp slt i64 %v77, 16
  %v79 = select i1 %v78, i64 %v77, i64 16
  %v80 = trunc i64 %v79 to i32
  %v81 = insertelement <16 x i32> poison, i32 %v80, i64 0
  %v82 = shufflevector <16 x i32> %v81, <16 x i32> poison, <16 x i32> zeroinitializer
  %v83 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v82
  %v84 = icmp slt i64 %v72, 16
  %v85 = select i1 %v84, i64 %v72, i64 16
  %v86 = trunc i64 %v85 to i32
  %v87 = insertelement <16 x i32> poison, i32 %v86, i64 0
  %v88 = shufflevector <16 x i32> %v87, <16 x i32> poison, <16 x i32> zeroinitializer
  %v89 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v88
  %v90 = xor <16 x i1> %v89, splat (i1 true)
  %v91 = and <16 x i1> %v83, %v90
  %v92 = and <16 x i1> %v67, %v91
  %v93 = icmp slt i64 %v60, 16
  %v94 = select i1 %v93, i64 %v60, i64 16
  %v95 = trunc i64 %v94 to i32
  %v96 = insertelement <16 x i32> poison, i32 %v95, i64 0
  %v97 = shufflevector <16 x i32> %v96, <16 x i32> poison, <16 x i32> zeroinitializer
  %v98 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v97
  %v99 = xor <16 x i1> %v92, splat (i1 true)
  %v100 = and <16 x i1> %v99, %v98
  %v101 = bitcast <16 x i1> %v100 to i16
  %v102 = icmp ne i16 %v101, 0
  br i1 %v102, label %leave103, label %go103
leave103:
  %v104 = mul i64 %v40, %v10
  %v105 = add i64 %v104, %v57
  %v106 = bitcast <16 x i1> %v100 to i16
  %v107 = zext i16 %v106 to i64
  %v108 = call i64 @llvm.cttz.i64(i64 %v107, i1 true)
  %v109 = add i64 %v105, %v108
  %v110 = and i64 %v109, 281474976710655
  %v111 = or i64 %v110, 281474976710656
  ret i64 %v111
go103:
  %v112 = and <16 x i1> %v92, %v98
  %v113 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v65, <16 x i1> %v112, <16 x float> splat (float 0x0000000000000000))
  %v114 = getelementptr i8, ptr %v3, i64 %v51
  %v115 = and i1 true, %v52
  %v116 = mul i64 %v57, %v17
  %v117 = icmp ult i64 %v57, %v14
  %v118 = getelementptr i8, ptr %v114, i64 %v116
  %v119 = insertelement <16 x i1> poison, i1 %v115, i64 0
  %v120 = shufflevector <16 x i1> %v119, <16 x i1> poison, <16 x i32> zeroinitializer
  %v121 = sub i64 0, %v57
  %v122 = icmp sgt i64 %v121, 0
  %v123 = select i1 %v122, i64 %v121, i64 0
  %v124 = icmp slt i64 %v123, 16
  %v125 = select i1 %v124, i64 %v123, i64 16
  %v126 = sub i64 %v14, %v57
  %v127 = icmp sgt i64 %v126, 0
  %v128 = select i1 %v127, i64 %v126, i64 0
  %v129 = icmp slt i64 %v128, 16
  %v130 = select i1 %v129, i64 %v128, i64 16
  %v131 = icmp slt i64 %v130, 16
  %v132 = select i1 %v131, i64 %v130, i64 16
  %v133 = trunc i64 %v132 to i32
  %v134 = insertelement <16 x i32> poison, i32 %v133, i64 0
  %v135 = shufflevector <16 x i32> %v134, <16 x i32> poison, <16 x i32> zeroinitializer
  %v136 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v135
  %v137 = icmp slt i64 %v125, 16
  %v138 = select i1 %v137, i64 %v125, i64 16
  %v139 = trunc i64 %v138 to i32
  %v140 = insertelement <16 x i32> poison, i32 %v139, i64 0
  %v141 = shufflevector <16 x i32> %v140, <16 x i32> poison, <16 x i32> zeroinitializer
  %v142 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v141
  %v143 = xor <16 x i1> %v142, splat (i1 true)
  %v144 = and <16 x i1> %v136, %v143
  %v145 = and <16 x i1> %v120, %v144
  %v146 = icmp slt i64 %v60, 16
  %v147 = select i1 %v146, i64 %v60, i64 16
  %v148 = trunc i64 %v147 to i32
  %v149 = insertelement <16 x i32> poison, i32 %v148, i64 0
  %v150 = shufflevector <16 x i32> %v149, <16 x i32> poison, <16 x i32> zeroinitializer
  %v151 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v150
  %v152 = xor <16 x i1> %v145, splat (i1 true)
  %v153 = and <16 x i1> %v152, %v151
  %v154 = bitcast <16 x i1> %v153 to i16
  %v155 = icmp ne i16 %v154, 0
  br i1 %v155, label %leave156, label %go156
leave156:
  %v157 = mul i64 %v40, %v10
  %v158 = add i64 %v157, %v57
  %v159 = bitcast <16 x i1> %v153 to i16
  %v160 = zext i16 %v159 to i64
  %v161 = call i64 @llvm.cttz.i64(i64 %v160, i1 true)
  %v162 = add i64 %v158, %v161
  %v163 = and i64 %v162, 281474976710655
  %v164 = or i64 %v163, 281474976710656
  ret i64 %v164
go156:
  %v165 = icmp slt i64 %v60, 16
  %v166 = select i1 %v165, i64 %v60, i64 16
  %v167 = trunc i64 %v166 to i32
  %v168 = insertelement <16 x i32> poison, i32 %v167, i64 0
  %v169 = shufflevector <16 x i32> %v168, <16 x i32> poison, <16 x i32> zeroinitializer
  %v170 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v169
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v113, ptr align 4 %v118, <16 x i1> %v170)
  %v171 = add nsw i64 %v57, 16
  %v172 = icmp slt i64 %v171, %v10
  br i1 %v172, label %loop55, label %done55
done55:
  %v173 = add nsw i64 %v40, 1
  %v174 = icmp slt i64 %v173, %v8
  br i1 %v174, label %loop38, label %done38
done38:
  br label %join37
no37:
  %v176 = icmp slt i64 %v6, %v8
  br i1 %v176, label %loop175, label %done175
loop175:
  %v177 = phi i64 [ %v6, %no37 ], [ %v223, %done192 ]
  %v178 = mul i64 %v177, %v21
  %v179 = icmp ult i64 %v177, %v19
  %v180 = getelementptr i8, ptr %v4, i64 %v178
  %v181 = and i1 true, %v179
  %v182 = xor i1 %v181, true
  br i1 %v182, label %leave183, label %go183
leave183:
  %v184 = and i64 %v177, 281474976710655
  %v185 = or i64 %v184, 281474976710656
  ret i64 %v185
go183:
  %v186 = select i1 %v181, ptr %v180, ptr %v32
  %v187 = load i64, ptr %v186, align 8
  %v188 = mul i64 %v177, %v15
  %v189 = icmp ult i64 %v177, %v12
  %v190 = mul i64 %v187, %v27
  %v191 = icmp ult i64 %v187, %v23
  %v193 = icmp slt i64 0, %v10
  br i1 %v193, label %loop192, label %done192
loop192:
  %v194 = phi i64 [ 0, %go183 ], [ %v221, %go216 ]
  %v195 = getelementptr i8, ptr %v5, i64 %v190
  %v196 = and i1 true, %v191
  %v197 = mul i64 %v194, %v29
  %v198 = icmp ult i64 %v194, %v25
  %v199 = getelementptr i8, ptr %v195, i64 %v197
  %v200 = and i1 %v196, %v198
  %v201 = xor i1 %v200, true
  br i1 %v201, label %leave202, label %go202
leave202:
  %v203 = mul i64 %v177, %v10
  %v204 = add i64 %v203, %v194
  %v205 = and i64 %v204, 281474976710655
  %v206 = or i64 %v205, 281474976710656
  ret i64 %v206
go202:
  %v207 = select i1 %v200, ptr %v199, ptr %v32
  %v208 = load float, ptr %v207, align 4
  %v209 = getelementptr i8, ptr %v3, i64 %v188
  %v210 = and i1 true, %v189
  %v211 = mul i64 %v194, %v17
  %v212 = icmp ult i64 %v194, %v14
  %v213 = getelementptr i8, ptr %v209, i64 %v211
  %v214 = and i1 %v210, %v212
  %v215 = xor i1 %v214, true
  br i1 %v215, label %leave216, label %go216
leave216:
  %v217 = mul i64 %v177, %v10
  %v218 = add i64 %v217, %v194
  %v219 = and i64 %v218, 281474976710655
  %v220 = or i64 %v219, 281474976710656
  ret i64 %v220
go216:
  store float %v208, ptr %v213, align 4
  %v221 = add nsw i64 %v194, 1
  %v222 = icmp slt i64 %v221, %v10
  br i1 %v222, label %loop192, label %done192
done192:
  %v223 = add nsw i64 %v177, 1
  %v224 = icmp slt i64 %v223, %v8
  br i1 %v224, label %loop175, label %done175
done175:
  br label %join37
join37:
  ret i64 0
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

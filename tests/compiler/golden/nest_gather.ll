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
  %v40 = phi i64 [ %v6, %yes35 ], [ %v166, %done59 ]
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
  %v61 = phi i64 [ 0, %go46 ], [ %v164, %go155 ]
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
  %v108 = icmp eq i64 %v37, 4
  br i1 %v108, label %yes109, label %no109
yes109:
  %v110 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v70, <16 x i1> %v107, <16 x float> splat (float 0x0000000000000000))
  br label %join109
no109:
  %v111 = icmp eq i64 %v37, 8
  br i1 %v111, label %yes112, label %no112
yes112:
  %v113 = shufflevector <16 x i1> %v107, <16 x i1> splat (i1 false), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  %v114 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v70, <16 x i1> %v113, <16 x float> splat (float 0x0000000000000000))
  %v115 = shufflevector <16 x i1> %v107, <16 x i1> splat (i1 false), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  %v116 = getelementptr i8, ptr %v70, i64 64
  %v117 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v116, <16 x i1> %v115, <16 x float> splat (float 0x0000000000000000))
  %v118 = shufflevector <16 x float> %v114, <16 x float> %v117, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30>
  br label %join112
no112:
  %v119 = insertelement <16 x i64> poison, i64 %v37, i64 0
  %v120 = shufflevector <16 x i64> %v119, <16 x i64> poison, <16 x i32> zeroinitializer
  %v121 = mul <16 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>, %v120
  %v122 = getelementptr i8, ptr %v70, <16 x i64> %v121
  %v123 = call <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr> align 4 %v122, <16 x i1> %v107, <16 x float> splat (float 0x0000000000000000))
  br label %join112
join112:
  %v124 = phi <16 x float> [ %v118, %yes112 ], [ %v123, %no112 ]
  br label %join109
join109:
  %v125 = phi <16 x float> [ %v110, %yes109 ], [ %v124, %join112 ]
  %v126 = mul i64 %v61, %v17
  %v127 = getelementptr i8, ptr %v52, i64 %v126
  %v128 = insertelement <16 x i1> poison, i1 %v54, i64 0
  %v129 = shufflevector <16 x i1> %v128, <16 x i1> poison, <16 x i32> zeroinitializer
  %v130 = sub i64 0, %v61
  %v131 = icmp sgt i64 %v130, 0
  %v132 = select i1 %v131, i64 %v130, i64 0
  %v133 = icmp slt i64 %v132, 16
  %v134 = select i1 %v133, i64 %v132, i64 16
  %v135 = trunc i64 %v134 to i32
  %v136 = insertelement <16 x i32> poison, i32 %v135, i64 0
  %v137 = shufflevector <16 x i32> %v136, <16 x i32> poison, <16 x i32> zeroinitializer
  %v138 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v137
  %v139 = sub i64 %v14, %v61
  %v140 = icmp sgt i64 %v139, 0
  %v141 = select i1 %v140, i64 %v139, i64 0
  %v142 = icmp slt i64 %v141, 16
  %v143 = select i1 %v142, i64 %v141, i64 16
  %v144 = trunc i64 %v143 to i32
  %v145 = insertelement <16 x i32> poison, i32 %v144, i64 0
  %v146 = shufflevector <16 x i32> %v145, <16 x i32> poison, <16 x i32> zeroinitializer
  %v147 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v146
  %v148 = xor <16 x i1> %v138, splat (i1 true)
  %v149 = and <16 x i1> %v147, %v148
  %v150 = and <16 x i1> %v129, %v149
  %v151 = xor <16 x i1> %v150, splat (i1 true)
  %v152 = and <16 x i1> %v151, %v68
  %v153 = bitcast <16 x i1> %v152 to i16
  %v154 = icmp ne i16 %v153, 0
  br i1 %v154, label %leave155, label %go155
leave155:
  %v156 = bitcast <16 x i1> %v152 to i16
  %v157 = zext i16 %v156 to i64
  %v158 = call i64 @llvm.cttz.i64(i64 %v157, i1 true)
  %v159 = mul i64 %v40, %v10
  %v160 = add i64 %v61, %v158
  %v161 = add i64 %v159, %v160
  %v162 = and i64 %v161, 281474976710655
  %v163 = or i64 %v162, 281474976710656
  ret i64 %v163
go155:
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v125, ptr align 4 %v127, <16 x i1> %v68)
  %v164 = add nsw i64 %v61, 16
  %v165 = icmp slt i64 %v164, %v10
  br i1 %v165, label %loop59, label %done59
done59:
  %v166 = add nsw i64 %v40, 1
  %v167 = icmp slt i64 %v166, %v8
  br i1 %v167, label %loop38, label %done38
done38:
  br label %join35
no35:
  %v169 = icmp slt i64 %v6, %v8
  br i1 %v169, label %loop168, label %done168
loop168:
  %v170 = phi i64 [ %v6, %no35 ], [ %v216, %done189 ]
  %v171 = mul i64 %v170, %v21
  %v172 = getelementptr i8, ptr %v4, i64 %v171
  %v173 = icmp ult i64 %v170, %v19
  %v174 = and i1 true, %v173
  %v175 = xor i1 %v174, true
  br i1 %v175, label %leave176, label %go176
leave176:
  %v177 = and i64 %v170, 281474976710655
  %v178 = or i64 %v177, 281474976710656
  ret i64 %v178
go176:
  %v179 = select i1 %v174, ptr %v172, ptr %v32
  %v180 = load i64, ptr %v179, align 8
  %v181 = mul i64 %v170, %v15
  %v182 = getelementptr i8, ptr %v3, i64 %v181
  %v183 = icmp ult i64 %v170, %v12
  %v184 = and i1 true, %v183
  %v185 = mul i64 %v180, %v27
  %v186 = getelementptr i8, ptr %v5, i64 %v185
  %v187 = icmp ult i64 %v180, %v23
  %v188 = and i1 true, %v187
  %v190 = icmp slt i64 0, %v10
  br i1 %v190, label %loop189, label %done189
loop189:
  %v191 = phi i64 [ 0, %go176 ], [ %v214, %go209 ]
  %v192 = mul i64 %v191, %v29
  %v193 = getelementptr i8, ptr %v186, i64 %v192
  %v194 = icmp ult i64 %v191, %v25
  %v195 = and i1 %v188, %v194
  %v196 = xor i1 %v195, true
  br i1 %v196, label %leave197, label %go197
leave197:
  %v198 = mul i64 %v170, %v10
  %v199 = add i64 %v198, %v191
  %v200 = and i64 %v199, 281474976710655
  %v201 = or i64 %v200, 281474976710656
  ret i64 %v201
go197:
  %v202 = select i1 %v195, ptr %v193, ptr %v32
  %v203 = load float, ptr %v202, align 4
  %v204 = mul i64 %v191, %v17
  %v205 = getelementptr i8, ptr %v182, i64 %v204
  %v206 = icmp ult i64 %v191, %v14
  %v207 = and i1 %v184, %v206
  %v208 = xor i1 %v207, true
  br i1 %v208, label %leave209, label %go209
leave209:
  %v210 = mul i64 %v170, %v10
  %v211 = add i64 %v210, %v191
  %v212 = and i64 %v211, 281474976710655
  %v213 = or i64 %v212, 281474976710656
  ret i64 %v213
go209:
  store float %v203, ptr %v205, align 4
  %v214 = add nsw i64 %v191, 1
  %v215 = icmp slt i64 %v214, %v10
  br i1 %v215, label %loop189, label %done189
done189:
  %v216 = add nsw i64 %v170, 1
  %v217 = icmp slt i64 %v216, %v8
  br i1 %v217, label %loop168, label %done168
done168:
  br label %join35
join35:
  ret i64 0
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

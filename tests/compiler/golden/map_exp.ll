declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v14 = alloca [128 x i8], align 64
  %v15 = alloca [128 x i8], align 64
  %v200 = alloca [4096 x i8], align 64
  %v201 = alloca [4096 x i8], align 64
  %v1 = load i64, ptr %sizes, align 8
  %v2 = getelementptr i8, ptr %sizes, i64 8
  %v3 = load i64, ptr %v2, align 8
  %v4 = getelementptr i8, ptr %strides, i64 16
  %v5 = load i64, ptr %v4, align 8
  %v6 = load i64, ptr %strides, align 8
  %v7 = getelementptr i8, ptr %strides, i64 24
  %v8 = load i64, ptr %v7, align 8
  %v9 = getelementptr i8, ptr %strides, i64 8
  %v10 = load i64, ptr %v9, align 8
  %v11 = getelementptr i8, ptr %data, i64 8
  %v12 = load ptr, ptr %data, align 8
  %v13 = load ptr, ptr %v11, align 8
  %v16 = icmp eq i64 %v5, 0
  %v17 = icmp eq i64 %v5, 4
  %v18 = icmp eq i64 %v6, 4
  %v19 = select i1 %v17, i64 4, i64 0
  %v20 = select i1 %v18, i64 4, i64 0
  %v21 = xor i1 %v17, true
  %v22 = xor i1 %v18, true
  %v23 = or i1 %v17, %v16
  %v24 = xor i1 %v23, true
  %v25 = xor i1 %v24, true
  %v26 = and i1 true, %v25
  %v27 = xor i1 %v22, true
  %v28 = and i1 %v26, %v27
  br i1 %v28, label %yes29, label %no29
yes29:
  %v31 = icmp slt i64 0, %v3
  br i1 %v31, label %loop30, label %done30
loop30:
  %v32 = phi i64 [ 0, %yes29 ], [ %v183, %done126 ]
  %v33 = mul i64 %v32, %v8
  %v34 = getelementptr i8, ptr %v13, i64 %v33
  %v35 = mul i64 %v32, %v10
  %v36 = getelementptr i8, ptr %v12, i64 %v35
  br i1 %v16, label %yes37, label %no37
yes37:
  %v38 = load float, ptr %v34, align 4
  %v39 = insertelement <16 x float> poison, float %v38, i64 0
  %v40 = shufflevector <16 x float> %v39, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v40, ptr %v14, align 4
  %v41 = getelementptr i8, ptr %v14, i64 64
  store <16 x float> %v40, ptr %v41, align 4
  br label %join37
no37:
  br label %join37
join37:
  %v42 = select i1 %v17, ptr %v34, ptr %v14
  %v43 = select i1 %v18, ptr %v36, ptr %v15
  %v44 = and i64 %v1, -32
  %v46 = icmp slt i64 0, %v44
  br i1 %v46, label %loop45, label %done45
loop45:
  %v47 = phi i64 [ 0, %join37 ], [ %v124, %loop45 ]
  %v48 = mul i64 %v47, %v19
  %v49 = getelementptr i8, ptr %v42, i64 %v48
  %v50 = load <16 x float>, ptr %v49, align 4
  %v51 = fcmp olt <16 x float> %v50, splat (float 0xC05A000000000000)
  %v52 = select <16 x i1> %v51, <16 x float> splat (float 0x0000000000000000), <16 x float> %v50
  %v53 = fcmp ogt <16 x float> %v52, splat (float 0x4056400000000000)
  %v54 = select <16 x i1> %v53, <16 x float> splat (float 0x4056400000000000), <16 x float> %v52
  %v55 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v54, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v56 = fsub <16 x float> %v55, splat (float 0x4168000000000000)
  %v57 = bitcast <16 x float> %v55 to <16 x i32>
  %v58 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v59 = sub <16 x i32> %v57, %v58
  %v60 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v56, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v54)
  %v61 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v56, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v60)
  %v62 = fsub <16 x float> %v60, %v61
  %v63 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v56, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v62)
  %v64 = fmul <16 x float> %v61, %v61
  %v65 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v61, <16 x float> splat (float 0x3F8120BE20000000))
  %v66 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v65, <16 x float> %v61, <16 x float> splat (float 0x3FA5555180000000))
  %v67 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v66, <16 x float> %v61, <16 x float> splat (float 0x3FC5554DC0000000))
  %v68 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v67, <16 x float> %v61, <16 x float> splat (float 0x3FE0000000000000))
  %v69 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v64, <16 x float> %v68, <16 x float> splat (float 0x0000000000000000))
  %v70 = fadd <16 x float> %v61, %v69
  %v71 = fadd <16 x float> %v70, splat (float 0x3FF0000000000000)
  %v72 = ashr <16 x i32> %v59, splat (i32 1)
  %v73 = add <16 x i32> %v72, splat (i32 127)
  %v74 = shl <16 x i32> %v73, splat (i32 23)
  %v75 = bitcast <16 x i32> %v74 to <16 x float>
  %v76 = fmul <16 x float> %v71, %v75
  %v77 = sub <16 x i32> %v59, %v72
  %v78 = add <16 x i32> %v77, splat (i32 127)
  %v79 = shl <16 x i32> %v78, splat (i32 23)
  %v80 = bitcast <16 x i32> %v79 to <16 x float>
  %v81 = fmul <16 x float> %v76, %v80
  %v82 = select <16 x i1> %v51, <16 x float> splat (float 0x0000000000000000), <16 x float> %v81
  %v83 = mul i64 %v47, %v19
  %v84 = getelementptr i8, ptr %v42, i64 %v83
  %v85 = getelementptr i8, ptr %v84, i64 64
  %v86 = load <16 x float>, ptr %v85, align 4
  %v87 = fcmp olt <16 x float> %v86, splat (float 0xC05A000000000000)
  %v88 = select <16 x i1> %v87, <16 x float> splat (float 0x0000000000000000), <16 x float> %v86
  %v89 = fcmp ogt <16 x float> %v88, splat (float 0x4056400000000000)
  %v90 = select <16 x i1> %v89, <16 x float> splat (float 0x4056400000000000), <16 x float> %v88
  %v91 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v90, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v92 = fsub <16 x float> %v91, splat (float 0x4168000000000000)
  %v93 = bitcast <16 x float> %v91 to <16 x i32>
  %v94 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v95 = sub <16 x i32> %v93, %v94
  %v96 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v92, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v90)
  %v97 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v92, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v96)
  %v98 = fsub <16 x float> %v96, %v97
  %v99 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v92, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v98)
  %v100 = fmul <16 x float> %v97, %v97
  %v101 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v97, <16 x float> splat (float 0x3F8120BE20000000))
  %v102 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v101, <16 x float> %v97, <16 x float> splat (float 0x3FA5555180000000))
  %v103 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v102, <16 x float> %v97, <16 x float> splat (float 0x3FC5554DC0000000))
  %v104 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v103, <16 x float> %v97, <16 x float> splat (float 0x3FE0000000000000))
  %v105 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v100, <16 x float> %v104, <16 x float> splat (float 0x0000000000000000))
  %v106 = fadd <16 x float> %v97, %v105
  %v107 = fadd <16 x float> %v106, splat (float 0x3FF0000000000000)
  %v108 = ashr <16 x i32> %v95, splat (i32 1)
  %v109 = add <16 x i32> %v108, splat (i32 127)
  %v110 = shl <16 x i32> %v109, splat (i32 23)
  %v111 = bitcast <16 x i32> %v110 to <16 x float>
  %v112 = fmul <16 x float> %v107, %v111
  %v113 = sub <16 x i32> %v95, %v108
  %v114 = add <16 x i32> %v113, splat (i32 127)
  %v115 = shl <16 x i32> %v114, splat (i32 23)
  %v116 = bitcast <16 x i32> %v115 to <16 x float>
  %v117 = fmul <16 x float> %v112, %v116
  %v118 = select <16 x i1> %v87, <16 x float> splat (float 0x0000000000000000), <16 x float> %v117
  %v119 = mul i64 %v47, %v20
  %v120 = getelementptr i8, ptr %v43, i64 %v119
  store <16 x float> %v82, ptr %v120, align 4
  %v121 = mul i64 %v47, %v20
  %v122 = getelementptr i8, ptr %v43, i64 %v121
  %v123 = getelementptr i8, ptr %v122, i64 64
  store <16 x float> %v118, ptr %v123, align 4
  %v124 = add nsw i64 %v47, 32
  %v125 = icmp slt i64 %v124, %v44
  br i1 %v125, label %loop45, label %done45
done45:
  %v127 = icmp slt i64 %v44, %v1
  br i1 %v127, label %loop126, label %done126
loop126:
  %v128 = phi i64 [ %v44, %done45 ], [ %v181, %loop126 ]
  %v129 = sub i64 %v1, %v128
  %v130 = icmp slt i64 %v129, 16
  %v131 = select i1 %v130, i64 %v129, i64 16
  %v132 = mul i64 %v128, %v19
  %v133 = getelementptr i8, ptr %v42, i64 %v132
  %v134 = icmp slt i64 %v131, 16
  %v135 = select i1 %v134, i64 %v131, i64 16
  %v136 = trunc i64 %v135 to i32
  %v137 = insertelement <16 x i32> poison, i32 %v136, i64 0
  %v138 = shufflevector <16 x i32> %v137, <16 x i32> poison, <16 x i32> zeroinitializer
  %v139 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v138
  %v140 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v133, <16 x i1> %v139, <16 x float> splat (float 0x0000000000000000))
  %v141 = fcmp olt <16 x float> %v140, splat (float 0xC05A000000000000)
  %v142 = select <16 x i1> %v141, <16 x float> splat (float 0x0000000000000000), <16 x float> %v140
  %v143 = fcmp ogt <16 x float> %v142, splat (float 0x4056400000000000)
  %v144 = select <16 x i1> %v143, <16 x float> splat (float 0x4056400000000000), <16 x float> %v142
  %v145 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v144, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v146 = fsub <16 x float> %v145, splat (float 0x4168000000000000)
  %v147 = bitcast <16 x float> %v145 to <16 x i32>
  %v148 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v149 = sub <16 x i32> %v147, %v148
  %v150 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v146, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v144)
  %v151 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v146, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v150)
  %v152 = fsub <16 x float> %v150, %v151
  %v153 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v146, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v152)
  %v154 = fmul <16 x float> %v151, %v151
  %v155 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v151, <16 x float> splat (float 0x3F8120BE20000000))
  %v156 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v155, <16 x float> %v151, <16 x float> splat (float 0x3FA5555180000000))
  %v157 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v156, <16 x float> %v151, <16 x float> splat (float 0x3FC5554DC0000000))
  %v158 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v157, <16 x float> %v151, <16 x float> splat (float 0x3FE0000000000000))
  %v159 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v154, <16 x float> %v158, <16 x float> splat (float 0x0000000000000000))
  %v160 = fadd <16 x float> %v151, %v159
  %v161 = fadd <16 x float> %v160, splat (float 0x3FF0000000000000)
  %v162 = ashr <16 x i32> %v149, splat (i32 1)
  %v163 = add <16 x i32> %v162, splat (i32 127)
  %v164 = shl <16 x i32> %v163, splat (i32 23)
  %v165 = bitcast <16 x i32> %v164 to <16 x float>
  %v166 = fmul <16 x float> %v161, %v165
  %v167 = sub <16 x i32> %v149, %v162
  %v168 = add <16 x i32> %v167, splat (i32 127)
  %v169 = shl <16 x i32> %v168, splat (i32 23)
  %v170 = bitcast <16 x i32> %v169 to <16 x float>
  %v171 = fmul <16 x float> %v166, %v170
  %v172 = select <16 x i1> %v141, <16 x float> splat (float 0x0000000000000000), <16 x float> %v171
  %v173 = mul i64 %v128, %v20
  %v174 = getelementptr i8, ptr %v43, i64 %v173
  %v175 = icmp slt i64 %v131, 16
  %v176 = select i1 %v175, i64 %v131, i64 16
  %v177 = trunc i64 %v176 to i32
  %v178 = insertelement <16 x i32> poison, i32 %v177, i64 0
  %v179 = shufflevector <16 x i32> %v178, <16 x i32> poison, <16 x i32> zeroinitializer
  %v180 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v179
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v172, ptr align 4 %v174, <16 x i1> %v180)
  %v181 = add nsw i64 %v128, 16
  %v182 = icmp slt i64 %v181, %v1
  br i1 %v182, label %loop126, label %done126
done126:
  %v183 = add nsw i64 %v32, 1
  %v184 = icmp slt i64 %v183, %v3
  br i1 %v184, label %loop30, label %done30
done30:
  br label %join29
no29:
  %v185 = load i64, ptr %sizes, align 8
  %v186 = getelementptr i8, ptr %sizes, i64 8
  %v187 = load i64, ptr %v186, align 8
  %v188 = getelementptr i8, ptr %strides, i64 16
  %v189 = load i64, ptr %v188, align 8
  %v190 = load i64, ptr %strides, align 8
  %v191 = getelementptr i8, ptr %strides, i64 24
  %v192 = load i64, ptr %v191, align 8
  %v193 = getelementptr i8, ptr %strides, i64 8
  %v194 = load i64, ptr %v193, align 8
  %v195 = getelementptr i8, ptr %data, i64 8
  %v196 = load ptr, ptr %data, align 8
  %v197 = load ptr, ptr %v195, align 8
  %v198 = icmp eq i64 %v189, 4
  %v199 = icmp eq i64 %v190, 4
  %v203 = icmp slt i64 0, %v187
  br i1 %v203, label %loop202, label %done202
loop202:
  %v204 = phi i64 [ 0, %no29 ], [ %v286, %done208 ]
  %v205 = sub i64 %v187, %v204
  %v206 = icmp slt i64 %v205, 64
  %v207 = select i1 %v206, i64 %v205, i64 64
  %v209 = icmp slt i64 0, %v185
  br i1 %v209, label %loop208, label %done208
loop208:
  %v210 = phi i64 [ 0, %loop202 ], [ %v284, %join283 ]
  %v211 = sub i64 %v185, %v210
  %v212 = icmp slt i64 %v211, 16
  %v213 = select i1 %v212, i64 %v211, i64 16
  %v214 = mul i64 %v204, %v192
  %v215 = getelementptr i8, ptr %v197, i64 %v214
  %v216 = mul i64 %v210, %v189
  %v217 = getelementptr i8, ptr %v215, i64 %v216
  %v218 = mul i64 %v204, %v194
  %v219 = getelementptr i8, ptr %v196, i64 %v218
  %v220 = mul i64 %v210, %v190
  %v221 = getelementptr i8, ptr %v219, i64 %v220
  %v222 = xor i1 %v198, true
  br i1 %v222, label %yes223, label %no223
yes223:
  call void @copy_block32(ptr %v217, ptr %v200, i64 %v189, i64 %v192, i64 4, i64 64, i64 %v213, i64 %v207)
  br label %join223
no223:
  br label %join223
join223:
  %v224 = select i1 %v198, ptr %v217, ptr %v200
  %v225 = select i1 %v198, i64 %v192, i64 64
  %v226 = select i1 %v199, ptr %v221, ptr %v201
  %v227 = select i1 %v199, i64 %v194, i64 64
  %v229 = icmp slt i64 0, %v207
  br i1 %v229, label %loop228, label %done228
loop228:
  %v230 = phi i64 [ 0, %join223 ], [ %v280, %loop228 ]
  %v231 = mul i64 %v230, %v225
  %v232 = getelementptr i8, ptr %v224, i64 %v231
  %v233 = mul i64 %v230, %v227
  %v234 = getelementptr i8, ptr %v226, i64 %v233
  %v235 = icmp slt i64 %v213, 16
  %v236 = select i1 %v235, i64 %v213, i64 16
  %v237 = trunc i64 %v236 to i32
  %v238 = insertelement <16 x i32> poison, i32 %v237, i64 0
  %v239 = shufflevector <16 x i32> %v238, <16 x i32> poison, <16 x i32> zeroinitializer
  %v240 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v239
  %v241 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v232, <16 x i1> %v240, <16 x float> splat (float 0x0000000000000000))
  %v242 = fcmp olt <16 x float> %v241, splat (float 0xC05A000000000000)
  %v243 = select <16 x i1> %v242, <16 x float> splat (float 0x0000000000000000), <16 x float> %v241
  %v244 = fcmp ogt <16 x float> %v243, splat (float 0x4056400000000000)
  %v245 = select <16 x i1> %v244, <16 x float> splat (float 0x4056400000000000), <16 x float> %v243
  %v246 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v245, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v247 = fsub <16 x float> %v246, splat (float 0x4168000000000000)
  %v248 = bitcast <16 x float> %v246 to <16 x i32>
  %v249 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v250 = sub <16 x i32> %v248, %v249
  %v251 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v247, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v245)
  %v252 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v247, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v251)
  %v253 = fsub <16 x float> %v251, %v252
  %v254 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v247, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v253)
  %v255 = fmul <16 x float> %v252, %v252
  %v256 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v252, <16 x float> splat (float 0x3F8120BE20000000))
  %v257 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v256, <16 x float> %v252, <16 x float> splat (float 0x3FA5555180000000))
  %v258 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v257, <16 x float> %v252, <16 x float> splat (float 0x3FC5554DC0000000))
  %v259 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v258, <16 x float> %v252, <16 x float> splat (float 0x3FE0000000000000))
  %v260 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v255, <16 x float> %v259, <16 x float> splat (float 0x0000000000000000))
  %v261 = fadd <16 x float> %v252, %v260
  %v262 = fadd <16 x float> %v261, splat (float 0x3FF0000000000000)
  %v263 = ashr <16 x i32> %v250, splat (i32 1)
  %v264 = add <16 x i32> %v263, splat (i32 127)
  %v265 = shl <16 x i32> %v264, splat (i32 23)
  %v266 = bitcast <16 x i32> %v265 to <16 x float>
  %v267 = fmul <16 x float> %v262, %v266
  %v268 = sub <16 x i32> %v250, %v263
  %v269 = add <16 x i32> %v268, splat (i32 127)
  %v270 = shl <16 x i32> %v269, splat (i32 23)
  %v271 = bitcast <16 x i32> %v270 to <16 x float>
  %v272 = fmul <16 x float> %v267, %v271
  %v273 = select <16 x i1> %v242, <16 x float> splat (float 0x0000000000000000), <16 x float> %v272
  %v274 = icmp slt i64 %v213, 16
  %v275 = select i1 %v274, i64 %v213, i64 16
  %v276 = trunc i64 %v275 to i32
  %v277 = insertelement <16 x i32> poison, i32 %v276, i64 0
  %v278 = shufflevector <16 x i32> %v277, <16 x i32> poison, <16 x i32> zeroinitializer
  %v279 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v278
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v273, ptr align 4 %v234, <16 x i1> %v279)
  %v280 = add nsw i64 %v230, 1
  %v281 = icmp slt i64 %v280, %v207
  br i1 %v281, label %loop228, label %done228
done228:
  %v282 = xor i1 %v199, true
  br i1 %v282, label %yes283, label %no283
yes283:
  call void @copy_block32(ptr %v201, ptr %v221, i64 4, i64 64, i64 %v190, i64 %v194, i64 %v213, i64 %v207)
  br label %join283
no283:
  br label %join283
join283:
  %v284 = add nsw i64 %v210, 16
  %v285 = icmp slt i64 %v284, %v185
  br i1 %v285, label %loop208, label %done208
done208:
  %v286 = add nsw i64 %v204, 64
  %v287 = icmp slt i64 %v286, %v187
  br i1 %v287, label %loop202, label %done202
done202:
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

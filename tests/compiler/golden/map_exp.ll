declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v14 = alloca [128 x i8], align 64
  %v15 = alloca [128 x i8], align 64
  %v197 = alloca [4096 x i8], align 64
  %v198 = alloca [4096 x i8], align 64
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
  %v32 = phi i64 [ 0, %yes29 ], [ %v180, %done124 ]
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
  %v47 = phi i64 [ 0, %join37 ], [ %v122, %loop45 ]
  %v48 = mul i64 %v47, %v19
  %v49 = getelementptr i8, ptr %v42, i64 %v48
  %v50 = load <16 x float>, ptr %v49, align 4
  %v51 = fcmp olt <16 x float> %v50, splat (float 0xC05A000000000000)
  %v52 = select <16 x i1> %v51, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v50
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
  %v82 = mul i64 %v47, %v19
  %v83 = getelementptr i8, ptr %v42, i64 %v82
  %v84 = getelementptr i8, ptr %v83, i64 64
  %v85 = load <16 x float>, ptr %v84, align 4
  %v86 = fcmp olt <16 x float> %v85, splat (float 0xC05A000000000000)
  %v87 = select <16 x i1> %v86, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v85
  %v88 = fcmp ogt <16 x float> %v87, splat (float 0x4056400000000000)
  %v89 = select <16 x i1> %v88, <16 x float> splat (float 0x4056400000000000), <16 x float> %v87
  %v90 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v89, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v91 = fsub <16 x float> %v90, splat (float 0x4168000000000000)
  %v92 = bitcast <16 x float> %v90 to <16 x i32>
  %v93 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v94 = sub <16 x i32> %v92, %v93
  %v95 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v91, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v89)
  %v96 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v91, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v95)
  %v97 = fsub <16 x float> %v95, %v96
  %v98 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v91, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v97)
  %v99 = fmul <16 x float> %v96, %v96
  %v100 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v96, <16 x float> splat (float 0x3F8120BE20000000))
  %v101 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v100, <16 x float> %v96, <16 x float> splat (float 0x3FA5555180000000))
  %v102 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v101, <16 x float> %v96, <16 x float> splat (float 0x3FC5554DC0000000))
  %v103 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v102, <16 x float> %v96, <16 x float> splat (float 0x3FE0000000000000))
  %v104 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v99, <16 x float> %v103, <16 x float> splat (float 0x0000000000000000))
  %v105 = fadd <16 x float> %v96, %v104
  %v106 = fadd <16 x float> %v105, splat (float 0x3FF0000000000000)
  %v107 = ashr <16 x i32> %v94, splat (i32 1)
  %v108 = add <16 x i32> %v107, splat (i32 127)
  %v109 = shl <16 x i32> %v108, splat (i32 23)
  %v110 = bitcast <16 x i32> %v109 to <16 x float>
  %v111 = fmul <16 x float> %v106, %v110
  %v112 = sub <16 x i32> %v94, %v107
  %v113 = add <16 x i32> %v112, splat (i32 127)
  %v114 = shl <16 x i32> %v113, splat (i32 23)
  %v115 = bitcast <16 x i32> %v114 to <16 x float>
  %v116 = fmul <16 x float> %v111, %v115
  %v117 = mul i64 %v47, %v20
  %v118 = getelementptr i8, ptr %v43, i64 %v117
  store <16 x float> %v81, ptr %v118, align 4
  %v119 = mul i64 %v47, %v20
  %v120 = getelementptr i8, ptr %v43, i64 %v119
  %v121 = getelementptr i8, ptr %v120, i64 64
  store <16 x float> %v116, ptr %v121, align 4
  %v122 = add nsw i64 %v47, 32
  %v123 = icmp slt i64 %v122, %v44
  br i1 %v123, label %loop45, label %done45
done45:
  %v125 = icmp slt i64 %v44, %v1
  br i1 %v125, label %loop124, label %done124
loop124:
  %v126 = phi i64 [ %v44, %done45 ], [ %v178, %loop124 ]
  %v127 = sub i64 %v1, %v126
  %v128 = icmp slt i64 %v127, 16
  %v129 = select i1 %v128, i64 %v127, i64 16
  %v130 = mul i64 %v126, %v19
  %v131 = getelementptr i8, ptr %v42, i64 %v130
  %v132 = icmp slt i64 %v129, 16
  %v133 = select i1 %v132, i64 %v129, i64 16
  %v134 = trunc i64 %v133 to i32
  %v135 = insertelement <16 x i32> poison, i32 %v134, i64 0
  %v136 = shufflevector <16 x i32> %v135, <16 x i32> poison, <16 x i32> zeroinitializer
  %v137 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v136
  %v138 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v131, <16 x i1> %v137, <16 x float> splat (float 0x0000000000000000))
  %v139 = fcmp olt <16 x float> %v138, splat (float 0xC05A000000000000)
  %v140 = select <16 x i1> %v139, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v138
  %v141 = fcmp ogt <16 x float> %v140, splat (float 0x4056400000000000)
  %v142 = select <16 x i1> %v141, <16 x float> splat (float 0x4056400000000000), <16 x float> %v140
  %v143 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v142, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v144 = fsub <16 x float> %v143, splat (float 0x4168000000000000)
  %v145 = bitcast <16 x float> %v143 to <16 x i32>
  %v146 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v147 = sub <16 x i32> %v145, %v146
  %v148 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v144, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v142)
  %v149 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v144, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v148)
  %v150 = fsub <16 x float> %v148, %v149
  %v151 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v144, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v150)
  %v152 = fmul <16 x float> %v149, %v149
  %v153 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v149, <16 x float> splat (float 0x3F8120BE20000000))
  %v154 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v153, <16 x float> %v149, <16 x float> splat (float 0x3FA5555180000000))
  %v155 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v154, <16 x float> %v149, <16 x float> splat (float 0x3FC5554DC0000000))
  %v156 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v155, <16 x float> %v149, <16 x float> splat (float 0x3FE0000000000000))
  %v157 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v152, <16 x float> %v156, <16 x float> splat (float 0x0000000000000000))
  %v158 = fadd <16 x float> %v149, %v157
  %v159 = fadd <16 x float> %v158, splat (float 0x3FF0000000000000)
  %v160 = ashr <16 x i32> %v147, splat (i32 1)
  %v161 = add <16 x i32> %v160, splat (i32 127)
  %v162 = shl <16 x i32> %v161, splat (i32 23)
  %v163 = bitcast <16 x i32> %v162 to <16 x float>
  %v164 = fmul <16 x float> %v159, %v163
  %v165 = sub <16 x i32> %v147, %v160
  %v166 = add <16 x i32> %v165, splat (i32 127)
  %v167 = shl <16 x i32> %v166, splat (i32 23)
  %v168 = bitcast <16 x i32> %v167 to <16 x float>
  %v169 = fmul <16 x float> %v164, %v168
  %v170 = mul i64 %v126, %v20
  %v171 = getelementptr i8, ptr %v43, i64 %v170
  %v172 = icmp slt i64 %v129, 16
  %v173 = select i1 %v172, i64 %v129, i64 16
  %v174 = trunc i64 %v173 to i32
  %v175 = insertelement <16 x i32> poison, i32 %v174, i64 0
  %v176 = shufflevector <16 x i32> %v175, <16 x i32> poison, <16 x i32> zeroinitializer
  %v177 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v176
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v169, ptr align 4 %v171, <16 x i1> %v177)
  %v178 = add nsw i64 %v126, 16
  %v179 = icmp slt i64 %v178, %v1
  br i1 %v179, label %loop124, label %done124
done124:
  %v180 = add nsw i64 %v32, 1
  %v181 = icmp slt i64 %v180, %v3
  br i1 %v181, label %loop30, label %done30
done30:
  br label %join29
no29:
  %v182 = load i64, ptr %sizes, align 8
  %v183 = getelementptr i8, ptr %sizes, i64 8
  %v184 = load i64, ptr %v183, align 8
  %v185 = getelementptr i8, ptr %strides, i64 16
  %v186 = load i64, ptr %v185, align 8
  %v187 = load i64, ptr %strides, align 8
  %v188 = getelementptr i8, ptr %strides, i64 24
  %v189 = load i64, ptr %v188, align 8
  %v190 = getelementptr i8, ptr %strides, i64 8
  %v191 = load i64, ptr %v190, align 8
  %v192 = getelementptr i8, ptr %data, i64 8
  %v193 = load ptr, ptr %data, align 8
  %v194 = load ptr, ptr %v192, align 8
  %v195 = icmp eq i64 %v186, 4
  %v196 = icmp eq i64 %v187, 4
  %v200 = icmp slt i64 0, %v184
  br i1 %v200, label %loop199, label %done199
loop199:
  %v201 = phi i64 [ 0, %no29 ], [ %v282, %done205 ]
  %v202 = sub i64 %v184, %v201
  %v203 = icmp slt i64 %v202, 64
  %v204 = select i1 %v203, i64 %v202, i64 64
  %v206 = icmp slt i64 0, %v182
  br i1 %v206, label %loop205, label %done205
loop205:
  %v207 = phi i64 [ 0, %loop199 ], [ %v280, %join279 ]
  %v208 = sub i64 %v182, %v207
  %v209 = icmp slt i64 %v208, 16
  %v210 = select i1 %v209, i64 %v208, i64 16
  %v211 = mul i64 %v201, %v189
  %v212 = getelementptr i8, ptr %v194, i64 %v211
  %v213 = mul i64 %v207, %v186
  %v214 = getelementptr i8, ptr %v212, i64 %v213
  %v215 = mul i64 %v201, %v191
  %v216 = getelementptr i8, ptr %v193, i64 %v215
  %v217 = mul i64 %v207, %v187
  %v218 = getelementptr i8, ptr %v216, i64 %v217
  %v219 = xor i1 %v195, true
  br i1 %v219, label %yes220, label %no220
yes220:
  call void @copy_block32(ptr %v214, ptr %v197, i64 %v186, i64 %v189, i64 4, i64 64, i64 %v210, i64 %v204)
  br label %join220
no220:
  br label %join220
join220:
  %v221 = select i1 %v195, ptr %v214, ptr %v197
  %v222 = select i1 %v195, i64 %v189, i64 64
  %v223 = select i1 %v196, ptr %v218, ptr %v198
  %v224 = select i1 %v196, i64 %v191, i64 64
  %v226 = icmp slt i64 0, %v204
  br i1 %v226, label %loop225, label %done225
loop225:
  %v227 = phi i64 [ 0, %join220 ], [ %v276, %loop225 ]
  %v228 = mul i64 %v227, %v222
  %v229 = getelementptr i8, ptr %v221, i64 %v228
  %v230 = mul i64 %v227, %v224
  %v231 = getelementptr i8, ptr %v223, i64 %v230
  %v232 = icmp slt i64 %v210, 16
  %v233 = select i1 %v232, i64 %v210, i64 16
  %v234 = trunc i64 %v233 to i32
  %v235 = insertelement <16 x i32> poison, i32 %v234, i64 0
  %v236 = shufflevector <16 x i32> %v235, <16 x i32> poison, <16 x i32> zeroinitializer
  %v237 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v236
  %v238 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v229, <16 x i1> %v237, <16 x float> splat (float 0x0000000000000000))
  %v239 = fcmp olt <16 x float> %v238, splat (float 0xC05A000000000000)
  %v240 = select <16 x i1> %v239, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v238
  %v241 = fcmp ogt <16 x float> %v240, splat (float 0x4056400000000000)
  %v242 = select <16 x i1> %v241, <16 x float> splat (float 0x4056400000000000), <16 x float> %v240
  %v243 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v242, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v244 = fsub <16 x float> %v243, splat (float 0x4168000000000000)
  %v245 = bitcast <16 x float> %v243 to <16 x i32>
  %v246 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v247 = sub <16 x i32> %v245, %v246
  %v248 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v244, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v242)
  %v249 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v244, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v248)
  %v250 = fsub <16 x float> %v248, %v249
  %v251 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v244, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v250)
  %v252 = fmul <16 x float> %v249, %v249
  %v253 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v249, <16 x float> splat (float 0x3F8120BE20000000))
  %v254 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v253, <16 x float> %v249, <16 x float> splat (float 0x3FA5555180000000))
  %v255 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v254, <16 x float> %v249, <16 x float> splat (float 0x3FC5554DC0000000))
  %v256 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v255, <16 x float> %v249, <16 x float> splat (float 0x3FE0000000000000))
  %v257 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v252, <16 x float> %v256, <16 x float> splat (float 0x0000000000000000))
  %v258 = fadd <16 x float> %v249, %v257
  %v259 = fadd <16 x float> %v258, splat (float 0x3FF0000000000000)
  %v260 = ashr <16 x i32> %v247, splat (i32 1)
  %v261 = add <16 x i32> %v260, splat (i32 127)
  %v262 = shl <16 x i32> %v261, splat (i32 23)
  %v263 = bitcast <16 x i32> %v262 to <16 x float>
  %v264 = fmul <16 x float> %v259, %v263
  %v265 = sub <16 x i32> %v247, %v260
  %v266 = add <16 x i32> %v265, splat (i32 127)
  %v267 = shl <16 x i32> %v266, splat (i32 23)
  %v268 = bitcast <16 x i32> %v267 to <16 x float>
  %v269 = fmul <16 x float> %v264, %v268
  %v270 = icmp slt i64 %v210, 16
  %v271 = select i1 %v270, i64 %v210, i64 16
  %v272 = trunc i64 %v271 to i32
  %v273 = insertelement <16 x i32> poison, i32 %v272, i64 0
  %v274 = shufflevector <16 x i32> %v273, <16 x i32> poison, <16 x i32> zeroinitializer
  %v275 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v274
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v269, ptr align 4 %v231, <16 x i1> %v275)
  %v276 = add nsw i64 %v227, 1
  %v277 = icmp slt i64 %v276, %v204
  br i1 %v277, label %loop225, label %done225
done225:
  %v278 = xor i1 %v196, true
  br i1 %v278, label %yes279, label %no279
yes279:
  call void @copy_block32(ptr %v198, ptr %v218, i64 4, i64 64, i64 %v187, i64 %v191, i64 %v210, i64 %v204)
  br label %join279
no279:
  br label %join279
join279:
  %v280 = add nsw i64 %v207, 16
  %v281 = icmp slt i64 %v280, %v182
  br i1 %v281, label %loop205, label %done205
done205:
  %v282 = add nsw i64 %v201, 64
  %v283 = icmp slt i64 %v282, %v184
  br i1 %v283, label %loop199, label %done199
done199:
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

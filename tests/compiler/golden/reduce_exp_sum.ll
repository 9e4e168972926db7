declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v14 = alloca [128 x i8], align 64
  %v21 = alloca [128 x i8], align 64
  %v318 = alloca [64 x i8], align 64
  %v324 = alloca [64 x i8], align 64
  %v407 = alloca [64 x i8], align 64
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
  %v15 = icmp eq i64 %v8, 0
  %v16 = icmp eq i64 %v8, 4
  %v17 = select i1 %v16, i64 4, i64 0
  %v18 = xor i1 %v16, true
  %v19 = or i1 %v16, %v15
  %v20 = xor i1 %v19, true
  %v22 = icmp eq i64 %v5, 0
  %v23 = icmp eq i64 %v5, 4
  %v24 = select i1 %v23, i64 4, i64 0
  %v25 = xor i1 %v23, true
  %v26 = or i1 %v23, %v22
  %v27 = xor i1 %v26, true
  %v28 = xor i1 %v20, true
  %v29 = and i1 true, %v28
  br i1 %v29, label %yes30, label %no30
yes30:
  %v32 = icmp slt i64 0, %v1
  br i1 %v32, label %loop31, label %done31
loop31:
  %v33 = phi i64 [ 0, %yes30 ], [ %v199, %done127 ]
  %v34 = mul i64 %v33, %v5
  %v35 = getelementptr i8, ptr %v13, i64 %v34
  %v36 = mul i64 %v33, %v6
  %v37 = getelementptr i8, ptr %v12, i64 %v36
  br i1 %v15, label %yes38, label %no38
yes38:
  %v39 = load float, ptr %v35, align 4
  %v40 = insertelement <16 x float> poison, float %v39, i64 0
  %v41 = shufflevector <16 x float> %v40, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v41, ptr %v14, align 4
  %v42 = getelementptr i8, ptr %v14, i64 64
  store <16 x float> %v41, ptr %v42, align 4
  br label %join38
no38:
  br label %join38
join38:
  %v43 = select i1 %v16, ptr %v35, ptr %v14
  %v44 = and i64 %v3, -32
  %v46 = icmp slt i64 0, %v44
  br i1 %v46, label %loop45, label %done45
loop45:
  %v47 = phi i64 [ 0, %join38 ], [ %v123, %loop45 ]
  %v48 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v85, %loop45 ]
  %v49 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v122, %loop45 ]
  %v50 = mul i64 %v47, %v17
  %v51 = getelementptr i8, ptr %v43, i64 %v50
  %v52 = load <16 x float>, ptr %v51, align 4
  %v53 = fcmp olt <16 x float> %v52, splat (float 0xC05A000000000000)
  %v54 = select <16 x i1> %v53, <16 x float> splat (float 0x0000000000000000), <16 x float> %v52
  %v55 = fcmp ogt <16 x float> %v54, splat (float 0x4056400000000000)
  %v56 = select <16 x i1> %v55, <16 x float> splat (float 0x4056400000000000), <16 x float> %v54
  %v57 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v56, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v58 = fsub <16 x float> %v57, splat (float 0x4168000000000000)
  %v59 = bitcast <16 x float> %v57 to <16 x i32>
  %v60 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v61 = sub <16 x i32> %v59, %v60
  %v62 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v58, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v56)
  %v63 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v58, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v62)
  %v64 = fsub <16 x float> %v62, %v63
  %v65 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v58, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v64)
  %v66 = fmul <16 x float> %v63, %v63
  %v67 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v63, <16 x float> splat (float 0x3F8120BE20000000))
  %v68 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v67, <16 x float> %v63, <16 x float> splat (float 0x3FA5555180000000))
  %v69 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v68, <16 x float> %v63, <16 x float> splat (float 0x3FC5554DC0000000))
  %v70 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v69, <16 x float> %v63, <16 x float> splat (float 0x3FE0000000000000))
  %v71 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v66, <16 x float> %v70, <16 x float> splat (float 0x0000000000000000))
  %v72 = fadd <16 x float> %v63, %v71
  %v73 = fadd <16 x float> %v72, splat (float 0x3FF0000000000000)
  %v74 = ashr <16 x i32> %v61, splat (i32 1)
  %v75 = add <16 x i32> %v74, splat (i32 127)
  %v76 = shl <16 x i32> %v75, splat (i32 23)
  %v77 = bitcast <16 x i32> %v76 to <16 x float>
  %v78 = fmul <16 x float> %v73, %v77
  %v79 = sub <16 x i32> %v61, %v74
  %v80 = add <16 x i32> %v79, splat (i32 127)
  %v81 = shl <16 x i32> %v80, splat (i32 23)
  %v82 = bitcast <16 x i32> %v81 to <16 x float>
  %v83 = fmul <16 x float> %v78, %v82
  %v84 = select <16 x i1> %v53, <16 x float> splat (float 0x0000000000000000), <16 x float> %v83
  %v85 = fadd <16 x float> %v48, %v84
  %v86 = mul i64 %v47, %v17
  %v87 = getelementptr i8, ptr %v43, i64 %v86
  %v88 = getelementptr i8, ptr %v87, i64 64
  %v89 = load <16 x float>, ptr %v88, align 4
  %v90 = fcmp olt <16 x float> %v89, splat (float 0xC05A000000000000)
  %v91 = select <16 x i1> %v90, <16 x float> splat (float 0x0000000000000000), <16 x float> %v89
  %v92 = fcmp ogt <16 x float> %v91, splat (float 0x4056400000000000)
  %v93 = select <16 x i1> %v92, <16 x float> splat (float 0x4056400000000000), <16 x float> %v91
  %v94 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v93, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v95 = fsub <16 x float> %v94, splat (float 0x4168000000000000)
  %v96 = bitcast <16 x float> %v94 to <16 x i32>
  %v97 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v98 = sub <16 x i32> %v96, %v97
  %v99 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v95, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v93)
  %v100 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v95, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v99)
  %v101 = fsub <16 x float> %v99, %v100
  %v102 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v95, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v101)
  %v103 = fmul <16 x float> %v100, %v100
  %v104 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v100, <16 x float> splat (float 0x3F8120BE20000000))
  %v105 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v104, <16 x float> %v100, <16 x float> splat (float 0x3FA5555180000000))
  %v106 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v105, <16 x float> %v100, <16 x float> splat (float 0x3FC5554DC0000000))
  %v107 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v106, <16 x float> %v100, <16 x float> splat (float 0x3FE0000000000000))
  %v108 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v103, <16 x float> %v107, <16 x float> splat (float 0x0000000000000000))
  %v109 = fadd <16 x float> %v100, %v108
  %v110 = fadd <16 x float> %v109, splat (float 0x3FF0000000000000)
  %v111 = ashr <16 x i32> %v98, splat (i32 1)
  %v112 = add <16 x i32> %v111, splat (i32 127)
  %v113 = shl <16 x i32> %v112, splat (i32 23)
  %v114 = bitcast <16 x i32> %v113 to <16 x float>
  %v115 = fmul <16 x float> %v110, %v114
  %v116 = sub <16 x i32> %v98, %v111
  %v117 = add <16 x i32> %v116, splat (i32 127)
  %v118 = shl <16 x i32> %v117, splat (i32 23)
  %v119 = bitcast <16 x i32> %v118 to <16 x float>
  %v120 = fmul <16 x float> %v115, %v119
  %v121 = select <16 x i1> %v90, <16 x float> splat (float 0x0000000000000000), <16 x float> %v120
  %v122 = fadd <16 x float> %v49, %v121
  %v123 = add nsw i64 %v47, 32
  %v124 = icmp slt i64 %v123, %v44
  br i1 %v124, label %loop45, label %done45
done45:
  %v125 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v85, %loop45 ]
  %v126 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v122, %loop45 ]
  %v128 = icmp slt i64 %v44, %v3
  br i1 %v128, label %loop127, label %done127
loop127:
  %v129 = phi i64 [ %v44, %done45 ], [ %v183, %loop127 ]
  %v130 = phi <16 x float> [ %v125, %done45 ], [ %v182, %loop127 ]
  %v131 = sub i64 %v3, %v129
  %v132 = icmp slt i64 %v131, 16
  %v133 = select i1 %v132, i64 %v131, i64 16
  %v134 = mul i64 %v129, %v17
  %v135 = getelementptr i8, ptr %v43, i64 %v134
  %v136 = icmp slt i64 %v133, 16
  %v137 = select i1 %v136, i64 %v133, i64 16
  %v138 = trunc i64 %v137 to i32
  %v139 = insertelement <16 x i32> poison, i32 %v138, i64 0
  %v140 = shufflevector <16 x i32> %v139, <16 x i32> poison, <16 x i32> zeroinitializer
  %v141 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v140
  %v142 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v135, <16 x i1> %v141, <16 x float> splat (float 0x0000000000000000))
  %v143 = fcmp olt <16 x float> %v142, splat (float 0xC05A000000000000)
  %v144 = select <16 x i1> %v143, <16 x float> splat (float 0x0000000000000000), <16 x float> %v142
  %v145 = fcmp ogt <16 x float> %v144, splat (float 0x4056400000000000)
  %v146 = select <16 x i1> %v145, <16 x float> splat (float 0x4056400000000000), <16 x float> %v144
  %v147 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v146, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v148 = fsub <16 x float> %v147, splat (float 0x4168000000000000)
  %v149 = bitcast <16 x float> %v147 to <16 x i32>
  %v150 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v151 = sub <16 x i32> %v149, %v150
  %v152 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v148, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v146)
  %v153 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v148, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v152)
  %v154 = fsub <16 x float> %v152, %v153
  %v155 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v148, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v154)
  %v156 = fmul <16 x float> %v153, %v153
  %v157 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v153, <16 x float> splat (float 0x3F8120BE20000000))
  %v158 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v157, <16 x float> %v153, <16 x float> splat (float 0x3FA5555180000000))
  %v159 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v158, <16 x float> %v153, <16 x float> splat (float 0x3FC5554DC0000000))
  %v160 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v159, <16 x float> %v153, <16 x float> splat (float 0x3FE0000000000000))
  %v161 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v156, <16 x float> %v160, <16 x float> splat (float 0x0000000000000000))
  %v162 = fadd <16 x float> %v153, %v161
  %v163 = fadd <16 x float> %v162, splat (float 0x3FF0000000000000)
  %v164 = ashr <16 x i32> %v151, splat (i32 1)
  %v165 = add <16 x i32> %v164, splat (i32 127)
  %v166 = shl <16 x i32> %v165, splat (i32 23)
  %v167 = bitcast <16 x i32> %v166 to <16 x float>
  %v168 = fmul <16 x float> %v163, %v167
  %v169 = sub <16 x i32> %v151, %v164
  %v170 = add <16 x i32> %v169, splat (i32 127)
  %v171 = shl <16 x i32> %v170, splat (i32 23)
  %v172 = bitcast <16 x i32> %v171 to <16 x float>
  %v173 = fmul <16 x float> %v168, %v172
  %v174 = select <16 x i1> %v143, <16 x float> splat (float 0x0000000000000000), <16 x float> %v173
  %v175 = fadd <16 x float> %v130, %v174
  %v176 = icmp slt i64 %v133, 16
  %v177 = select i1 %v176, i64 %v133, i64 16
  %v178 = trunc i64 %v177 to i32
  %v179 = insertelement <16 x i32> poison, i32 %v178, i64 0
  %v180 = shufflevector <16 x i32> %v179, <16 x i32> poison, <16 x i32> zeroinitializer
  %v181 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v180
  %v182 = select <16 x i1> %v181, <16 x float> %v175, <16 x float> %v130
  %v183 = add nsw i64 %v129, 16
  %v184 = icmp slt i64 %v183, %v3
  br i1 %v184, label %loop127, label %done127
done127:
  %v185 = phi <16 x float> [ %v125, %done45 ], [ %v182, %loop127 ]
  %v186 = fadd <16 x float> %v185, %v126
  %v187 = shufflevector <16 x float> %v186, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v188 = shufflevector <16 x float> %v186, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v189 = fadd <8 x float> %v187, %v188
  %v190 = shufflevector <8 x float> %v189, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v191 = shufflevector <8 x float> %v189, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v192 = fadd <4 x float> %v190, %v191
  %v193 = shufflevector <4 x float> %v192, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v194 = shufflevector <4 x float> %v192, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v195 = fadd <2 x float> %v193, %v194
  %v196 = extractelement <2 x float> %v195, i64 0
  %v197 = extractelement <2 x float> %v195, i64 1
  %v198 = fadd float %v196, %v197
  store float %v198, ptr %v37, align 4
  %v199 = add nsw i64 %v33, 1
  %v200 = icmp slt i64 %v199, %v1
  br i1 %v200, label %loop31, label %done31
done31:
  br label %join30
no30:
  %v201 = xor i1 %v27, true
  %v202 = and i1 true, %v201
  br i1 %v202, label %yes203, label %no203
yes203:
  %v204 = and i64 %v1, -32
  %v206 = icmp slt i64 0, %v204
  br i1 %v206, label %loop205, label %done205
loop205:
  %v207 = phi i64 [ 0, %yes203 ], [ %v325, %done208 ]
  %v209 = icmp slt i64 0, %v3
  br i1 %v209, label %loop208, label %done208
loop208:
  %v210 = phi i64 [ 0, %loop205 ], [ %v310, %done216 ]
  %v211 = phi <16 x float> [ splat (float 0x0000000000000000), %loop205 ], [ %v308, %done216 ]
  %v212 = phi <16 x float> [ splat (float 0x0000000000000000), %loop205 ], [ %v309, %done216 ]
  %v213 = add i64 %v210, 64
  %v214 = icmp slt i64 %v213, %v3
  %v215 = select i1 %v214, i64 %v213, i64 %v3
  %v217 = icmp slt i64 %v210, %v215
  br i1 %v217, label %loop216, label %done216
loop216:
  %v218 = phi i64 [ %v210, %loop208 ], [ %v304, %join225 ]
  %v219 = phi <16 x float> [ splat (float 0x0000000000000000), %loop208 ], [ %v266, %join225 ]
  %v220 = phi <16 x float> [ splat (float 0x0000000000000000), %loop208 ], [ %v303, %join225 ]
  %v221 = mul i64 %v218, %v8
  %v222 = getelementptr i8, ptr %v13, i64 %v221
  %v223 = mul i64 %v218, %v10
  %v224 = getelementptr i8, ptr %v12, i64 %v223
  br i1 %v22, label %yes225, label %no225
yes225:
  %v226 = load float, ptr %v222, align 4
  %v227 = insertelement <16 x float> poison, float %v226, i64 0
  %v228 = shufflevector <16 x float> %v227, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v228, ptr %v21, align 4
  %v229 = getelementptr i8, ptr %v21, i64 64
  store <16 x float> %v228, ptr %v229, align 4
  br label %join225
no225:
  br label %join225
join225:
  %v230 = select i1 %v23, ptr %v222, ptr %v21
  %v231 = mul i64 %v207, %v24
  %v232 = getelementptr i8, ptr %v230, i64 %v231
  %v233 = load <16 x float>, ptr %v232, align 4
  %v234 = fcmp olt <16 x float> %v233, splat (float 0xC05A000000000000)
  %v235 = select <16 x i1> %v234, <16 x float> splat (float 0x0000000000000000), <16 x float> %v233
  %v236 = fcmp ogt <16 x float> %v235, splat (float 0x4056400000000000)
  %v237 = select <16 x i1> %v236, <16 x float> splat (float 0x4056400000000000), <16 x float> %v235
  %v238 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v237, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v239 = fsub <16 x float> %v238, splat (float 0x4168000000000000)
  %v240 = bitcast <16 x float> %v238 to <16 x i32>
  %v241 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v242 = sub <16 x i32> %v240, %v241
  %v243 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v239, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v237)
  %v244 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v239, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v243)
  %v245 = fsub <16 x float> %v243, %v244
  %v246 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v239, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v245)
  %v247 = fmul <16 x float> %v244, %v244
  %v248 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v244, <16 x float> splat (float 0x3F8120BE20000000))
  %v249 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v248, <16 x float> %v244, <16 x float> splat (float 0x3FA5555180000000))
  %v250 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v249, <16 x float> %v244, <16 x float> splat (float 0x3FC5554DC0000000))
  %v251 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v250, <16 x float> %v244, <16 x float> splat (float 0x3FE0000000000000))
  %v252 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v247, <16 x float> %v251, <16 x float> splat (float 0x0000000000000000))
  %v253 = fadd <16 x float> %v244, %v252
  %v254 = fadd <16 x float> %v253, splat (float 0x3FF0000000000000)
  %v255 = ashr <16 x i32> %v242, splat (i32 1)
  %v256 = add <16 x i32> %v255, splat (i32 127)
  %v257 = shl <16 x i32> %v256, splat (i32 23)
  %v258 = bitcast <16 x i32> %v257 to <16 x float>
  %v259 = fmul <16 x float> %v254, %v258
  %v260 = sub <16 x i32> %v242, %v255
  %v261 = add <16 x i32> %v260, splat (i32 127)
  %v262 = shl <16 x i32> %v261, splat (i32 23)
  %v263 = bitcast <16 x i32> %v262 to <16 x float>
  %v264 = fmul <16 x float> %v259, %v263
  %v265 = select <16 x i1> %v234, <16 x float> splat (float 0x0000000000000000), <16 x float> %v264
  %v266 = fadd <16 x float> %v219, %v265
  %v267 = mul i64 %v207, %v24
  %v268 = getelementptr i8, ptr %v230, i64 %v267
  %v269 = getelementptr i8, ptr %v268, i64 64
  %v270 = load <16 x float>, ptr %v269, align 4
  %v271 = fcmp olt <16 x float> %v270, splat (float 0xC05A000000000000)
  %v272 = select <16 x i1> %v271, <16 x float> splat (float 0x0000000000000000), <16 x float> %v270
  %v273 = fcmp ogt <16 x float> %v272, splat (float 0x4056400000000000)
  %v274 = select <16 x i1> %v273, <16 x float> splat (float 0x4056400000000000), <16 x float> %v272
  %v275 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v274, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v276 = fsub <16 x float> %v275, splat (float 0x4168000000000000)
  %v277 = bitcast <16 x float> %v275 to <16 x i32>
  %v278 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v279 = sub <16 x i32> %v277, %v278
  %v280 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v276, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v274)
  %v281 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v276, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v280)
  %v282 = fsub <16 x float> %v280, %v281
  %v283 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v276, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v282)
  %v284 = fmul <16 x float> %v281, %v281
  %v285 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v281, <16 x float> splat (float 0x3F8120BE20000000))
  %v286 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v285, <16 x float> %v281, <16 x float> splat (float 0x3FA5555180000000))
  %v287 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v286, <16 x float> %v281, <16 x float> splat (float 0x3FC5554DC0000000))
  %v288 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v287, <16 x float> %v281, <16 x float> splat (float 0x3FE0000000000000))
  %v289 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v284, <16 x float> %v288, <16 x float> splat (float 0x0000000000000000))
  %v290 = fadd <16 x float> %v281, %v289
  %v291 = fadd <16 x float> %v290, splat (float 0x3FF0000000000000)
  %v292 = ashr <16 x i32> %v279, splat (i32 1)
  %v293 = add <16 x i32> %v292, splat (i32 127)
  %v294 = shl <16 x i32> %v293, splat (i32 23)
  %v295 = bitcast <16 x i32> %v294 to <16 x float>
  %v296 = fmul <16 x float> %v291, %v295
  %v297 = sub <16 x i32> %v279, %v292
  %v298 = add <16 x i32> %v297, splat (i32 127)
  %v299 = shl <16 x i32> %v298, splat (i32 23)
  %v300 = bitcast <16 x i32> %v299 to <16 x float>
  %v301 = fmul <16 x float> %v296, %v300
  %v302 = select <16 x i1> %v271, <16 x float> splat (float 0x0000000000000000), <16 x float> %v301
  %v303 = fadd <16 x float> %v220, %v302
  %v304 = add nsw i64 %v218, 1
  %v305 = icmp slt i64 %v304, %v215
  br i1 %v305, label %loop216, label %done216
done216:
  %v306 = phi <16 x float> [ splat (float 0x0000000000000000), %loop208 ], [ %v266, %join225 ]
  %v307 = phi <16 x float> [ splat (float 0x0000000000000000), %loop208 ], [ %v303, %join225 ]
  %v308 = fadd <16 x float> %v211, %v306
  %v309 = fadd <16 x float> %v212, %v307
  %v310 = add nsw i64 %v210, 64
  %v311 = icmp slt i64 %v310, %v3
  br i1 %v311, label %loop208, label %done208
done208:
  %v312 = phi <16 x float> [ splat (float 0x0000000000000000), %loop205 ], [ %v308, %done216 ]
  %v313 = phi <16 x float> [ splat (float 0x0000000000000000), %loop205 ], [ %v309, %done216 ]
  %v314 = mul i64 %v207, %v5
  %v315 = getelementptr i8, ptr %v13, i64 %v314
  %v316 = mul i64 %v207, %v6
  %v317 = getelementptr i8, ptr %v12, i64 %v316
  store <16 x float> %v312, ptr %v318, align 4
  call void @copy32(ptr %v318, i64 4, ptr %v317, i64 %v6, i64 16)
  %v319 = add i64 %v207, 16
  %v320 = mul i64 %v319, %v5
  %v321 = getelementptr i8, ptr %v13, i64 %v320
  %v322 = mul i64 %v319, %v6
  %v323 = getelementptr i8, ptr %v12, i64 %v322
  store <16 x float> %v313, ptr %v324, align 4
  call void @copy32(ptr %v324, i64 4, ptr %v323, i64 %v6, i64 16)
  %v325 = add nsw i64 %v207, 32
  %v326 = icmp slt i64 %v325, %v204
  br i1 %v326, label %loop205, label %done205
done205:
  %v328 = icmp slt i64 %v204, %v1
  br i1 %v328, label %loop327, label %done327
loop327:
  %v329 = phi i64 [ %v204, %done205 ], [ %v408, %done333 ]
  %v330 = sub i64 %v1, %v329
  %v331 = icmp slt i64 %v330, 16
  %v332 = select i1 %v331, i64 %v330, i64 16
  %v334 = icmp slt i64 0, %v3
  br i1 %v334, label %loop333, label %done333
loop333:
  %v335 = phi i64 [ 0, %loop327 ], [ %v400, %done340 ]
  %v336 = phi <16 x float> [ splat (float 0x0000000000000000), %loop327 ], [ %v399, %done340 ]
  %v337 = add i64 %v335, 64
  %v338 = icmp slt i64 %v337, %v3
  %v339 = select i1 %v338, i64 %v337, i64 %v3
  %v341 = icmp slt i64 %v335, %v339
  br i1 %v341, label %loop340, label %done340
loop340:
  %v342 = phi i64 [ %v335, %loop333 ], [ %v396, %join348 ]
  %v343 = phi <16 x float> [ splat (float 0x0000000000000000), %loop333 ], [ %v395, %join348 ]
  %v344 = mul i64 %v342, %v8
  %v345 = getelementptr i8, ptr %v13, i64 %v344
  %v346 = mul i64 %v342, %v10
  %v347 = getelementptr i8, ptr %v12, i64 %v346
  br i1 %v22, label %yes348, label %no348
yes348:
  %v349 = load float, ptr %v345, align 4
  %v350 = insertelement <16 x float> poison, float %v349, i64 0
  %v351 = shufflevector <16 x float> %v350, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v351, ptr %v21, align 4
  %v352 = getelementptr i8, ptr %v21, i64 64
  store <16 x float> %v351, ptr %v352, align 4
  br label %join348
no348:
  br label %join348
join348:
  %v353 = select i1 %v23, ptr %v345, ptr %v21
  %v354 = mul i64 %v329, %v24
  %v355 = getelementptr i8, ptr %v353, i64 %v354
  %v356 = icmp slt i64 %v332, 16
  %v357 = select i1 %v356, i64 %v332, i64 16
  %v358 = trunc i64 %v357 to i32
  %v359 = insertelement <16 x i32> poison, i32 %v358, i64 0
  %v360 = shufflevector <16 x i32> %v359, <16 x i32> poison, <16 x i32> zeroinitializer
  %v361 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v360
  %v362 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v355, <16 x i1> %v361, <16 x float> splat (float 0x0000000000000000))
  %v363 = fcmp olt <16 x float> %v362, splat (float 0xC05A000000000000)
  %v364 = select <16 x i1> %v363, <16 x float> splat (float 0x0000000000000000), <16 x float> %v362
  %v365 = fcmp ogt <16 x float> %v364, splat (float 0x4056400000000000)
  %v366 = select <16 x i1> %v365, <16 x float> splat (float 0x4056400000000000), <16 x float> %v364
  %v367 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v366, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v368 = fsub <16 x float> %v367, splat (float 0x4168000000000000)
  %v369 = bitcast <16 x float> %v367 to <16 x i32>
  %v370 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v371 = sub <16 x i32> %v369, %v370
  %v372 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v368, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v366)
  %v373 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v368, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v372)
  %v374 = fsub <16 x float> %v372, %v373
  %v375 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v368, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v374)
  %v376 = fmul <16 x float> %v373, %v373
  %v377 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v373, <16 x float> splat (float 0x3F8120BE20000000))
  %v378 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v377, <16 x float> %v373, <16 x float> splat (float 0x3FA5555180000000))
  %v379 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v378, <16 x float> %v373, <16 x float> splat (float 0x3FC5554DC0000000))
  %v380 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v379, <16 x float> %v373, <16 x float> splat (float 0x3FE0000000000000))
  %v381 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v376, <16 x float> %v380, <16 x float> splat (float 0x0000000000000000))
  %v382 = fadd <16 x float> %v373, %v381
  %v383 = fadd <16 x float> %v382, splat (float 0x3FF0000000000000)
  %v384 = ashr <16 x i32> %v371, splat (i32 1)
  %v385 = add <16 x i32> %v384, splat (i32 127)
  %v386 = shl <16 x i32> %v385, splat (i32 23)
  %v387 = bitcast <16 x i32> %v386 to <16 x float>
  %v388 = fmul <16 x float> %v383, %v387
  %v389 = sub <16 x i32> %v371, %v384
  %v390 = add <16 x i32> %v389, splat (i32 127)
  %v391 = shl <16 x i32> %v390, splat (i32 23)
  %v392 = bitcast <16 x i32> %v391 to <16 x float>
  %v393 = fmul <16 x float> %v388, %v392
  %v394 = select <16 x i1> %v363, <16 x float> splat (float 0x0000000000000000), <16 x float> %v393
  %v395 = fadd <16 x float> %v343, %v394
  %v396 = add nsw i64 %v342, 1
  %v397 = icmp slt i64 %v396, %v339
  br i1 %v397, label %loop340, label %done340
done340:
  %v398 = phi <16 x float> [ splat (float 0x0000000000000000), %loop333 ], [ %v395, %join348 ]
  %v399 = fadd <16 x float> %v336, %v398
  %v400 = add nsw i64 %v335, 64
  %v401 = icmp slt i64 %v400, %v3
  br i1 %v401, label %loop333, label %done333
done333:
  %v402 = phi <16 x float> [ splat (float 0x0000000000000000), %loop327 ], [ %v399, %done340 ]
  %v403 = mul i64 %v329, %v5
  %v404 = getelementptr i8, ptr %v13, i64 %v403
  %v405 = mul i64 %v329, %v6
  %v406 = getelementptr i8, ptr %v12, i64 %v405
  store <16 x float> %v402, ptr %v407, align 4
  call void @copy32(ptr %v407, i64 4, ptr %v406, i64 %v6, i64 %v332)
  %v408 = add nsw i64 %v329, 16
  %v409 = icmp slt i64 %v408, %v1
  br i1 %v409, label %loop327, label %done327
done327:
  br label %join203
no203:
  %v411 = icmp slt i64 0, %v1
  br i1 %v411, label %loop410, label %done410
loop410:
  %v412 = phi i64 [ 0, %no203 ], [ %v589, %done514 ]
  %v413 = mul i64 %v412, %v5
  %v414 = getelementptr i8, ptr %v13, i64 %v413
  %v415 = mul i64 %v412, %v6
  %v416 = getelementptr i8, ptr %v12, i64 %v415
  br i1 %v15, label %yes417, label %no417
yes417:
  %v418 = load float, ptr %v414, align 4
  %v419 = insertelement <16 x float> poison, float %v418, i64 0
  %v420 = shufflevector <16 x float> %v419, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v420, ptr %v14, align 4
  %v421 = getelementptr i8, ptr %v14, i64 64
  store <16 x float> %v420, ptr %v421, align 4
  br label %join417
no417:
  br label %join417
join417:
  %v422 = select i1 %v16, ptr %v414, ptr %v14
  %v423 = and i64 %v3, -32
  %v425 = icmp slt i64 0, %v423
  br i1 %v425, label %loop424, label %done424
loop424:
  %v426 = phi i64 [ 0, %join417 ], [ %v510, %join468 ]
  %v427 = phi <16 x float> [ splat (float 0x0000000000000000), %join417 ], [ %v467, %join468 ]
  %v428 = phi <16 x float> [ splat (float 0x0000000000000000), %join417 ], [ %v509, %join468 ]
  br i1 %v20, label %yes429, label %no429
yes429:
  %v430 = mul i64 %v426, %v8
  %v431 = getelementptr i8, ptr %v414, i64 %v430
  call void @copy32(ptr %v431, i64 %v8, ptr %v14, i64 4, i64 16)
  br label %join429
no429:
  br label %join429
join429:
  %v432 = mul i64 %v426, %v17
  %v433 = getelementptr i8, ptr %v422, i64 %v432
  %v434 = load <16 x float>, ptr %v433, align 4
  %v435 = fcmp olt <16 x float> %v434, splat (float 0xC05A000000000000)
  %v436 = select <16 x i1> %v435, <16 x float> splat (float 0x0000000000000000), <16 x float> %v434
  %v437 = fcmp ogt <16 x float> %v436, splat (float 0x4056400000000000)
  %v438 = select <16 x i1> %v437, <16 x float> splat (float 0x4056400000000000), <16 x float> %v436
  %v439 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v438, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v440 = fsub <16 x float> %v439, splat (float 0x4168000000000000)
  %v441 = bitcast <16 x float> %v439 to <16 x i32>
  %v442 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v443 = sub <16 x i32> %v441, %v442
  %v444 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v440, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v438)
  %v445 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v440, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v444)
  %v446 = fsub <16 x float> %v444, %v445
  %v447 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v440, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v446)
  %v448 = fmul <16 x float> %v445, %v445
  %v449 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v445, <16 x float> splat (float 0x3F8120BE20000000))
  %v450 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v449, <16 x float> %v445, <16 x float> splat (float 0x3FA5555180000000))
  %v451 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v450, <16 x float> %v445, <16 x float> splat (float 0x3FC5554DC0000000))
  %v452 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v451, <16 x float> %v445, <16 x float> splat (float 0x3FE0000000000000))
  %v453 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v448, <16 x float> %v452, <16 x float> splat (float 0x0000000000000000))
  %v454 = fadd <16 x float> %v445, %v453
  %v455 = fadd <16 x float> %v454, splat (float 0x3FF0000000000000)
  %v456 = ashr <16 x i32> %v443, splat (i32 1)
  %v457 = add <16 x i32> %v456, splat (i32 127)
  %v458 = shl <16 x i32> %v457, splat (i32 23)
  %v459 = bitcast <16 x i32> %v458 to <16 x float>
  %v460 = fmul <16 x float> %v455, %v459
  %v461 = sub <16 x i32> %v443, %v456
  %v462 = add <16 x i32> %v461, splat (i32 127)
  %v463 = shl <16 x i32> %v462, splat (i32 23)
  %v464 = bitcast <16 x i32> %v463 to <16 x float>
  %v465 = fmul <16 x float> %v460, %v464
  %v466 = select <16 x i1> %v435, <16 x float> splat (float 0x0000000000000000), <16 x float> %v465
  %v467 = fadd <16 x float> %v427, %v466
  br i1 %v20, label %yes468, label %no468
yes468:
  %v469 = add i64 %v426, 16
  %v470 = mul i64 %v469, %v8
  %v471 = getelementptr i8, ptr %v414, i64 %v470
  %v472 = getelementptr i8, ptr %v14, i64 64
  call void @copy32(ptr %v471, i64 %v8, ptr %v472, i64 4, i64 16)
  br label %join468
no468:
  br label %join468
join468:
  %v473 = mul i64 %v426, %v17
  %v474 = getelementptr i8, ptr %v422, i64 %v473
  %v475 = getelementptr i8, ptr %v474, i64 64
  %v476 = load <16 x float>, ptr %v475, align 4
  %v477 = fcmp olt <16 x float> %v476, splat (float 0xC05A000000000000)
  %v478 = select <16 x i1> %v477, <16 x float> splat (float 0x0000000000000000), <16 x float> %v476
  %v479 = fcmp ogt <16 x float> %v478, splat (float 0x4056400000000000)
  %v480 = select <16 x i1> %v479, <16 x float> splat (float 0x4056400000000000), <16 x float> %v478
  %v481 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v480, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v482 = fsub <16 x float> %v481, splat (float 0x4168000000000000)
  %v483 = bitcast <16 x float> %v481 to <16 x i32>
  %v484 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v485 = sub <16 x i32> %v483, %v484
  %v486 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v482, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v480)
  %v487 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v482, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v486)
  %v488 = fsub <16 x float> %v486, %v487
  %v489 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v482, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v488)
  %v490 = fmul <16 x float> %v487, %v487
  %v491 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v487, <16 x float> splat (float 0x3F8120BE20000000))
  %v492 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v491, <16 x float> %v487, <16 x float> splat (float 0x3FA5555180000000))
  %v493 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v492, <16 x float> %v487, <16 x float> splat (float 0x3FC5554DC0000000))
  %v494 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v493, <16 x float> %v487, <16 x float> splat (float 0x3FE0000000000000))
  %v495 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v490, <16 x float> %v494, <16 x float> splat (float 0x0000000000000000))
  %v496 = fadd <16 x float> %v487, %v495
  %v497 = fadd <16 x float> %v496, splat (float 0x3FF0000000000000)
  %v498 = ashr <16 x i32> %v485, splat (i32 1)
  %v499 = add <16 x i32> %v498, splat (i32 127)
  %v500 = shl <16 x i32> %v499, splat (i32 23)
  %v501 = bitcast <16 x i32> %v500 to <16 x float>
  %v502 = fmul <16 x float> %v497, %v501
  %v503 = sub <16 x i32> %v485, %v498
  %v504 = add <16 x i32> %v503, splat (i32 127)
  %v505 = shl <16 x i32> %v504, splat (i32 23)
  %v506 = bitcast <16 x i32> %v505 to <16 x float>
  %v507 = fmul <16 x float> %v502, %v506
  %v508 = select <16 x i1> %v477, <16 x float> splat (float 0x0000000000000000), <16 x float> %v507
  %v509 = fadd <16 x float> %v428, %v508
  %v510 = add nsw i64 %v426, 32
  %v511 = icmp slt i64 %v510, %v423
  br i1 %v511, label %loop424, label %done424
done424:
  %v512 = phi <16 x float> [ splat (float 0x0000000000000000), %join417 ], [ %v467, %join468 ]
  %v513 = phi <16 x float> [ splat (float 0x0000000000000000), %join417 ], [ %v509, %join468 ]
  %v515 = icmp slt i64 %v423, %v3
  br i1 %v515, label %loop514, label %done514
loop514:
  %v516 = phi i64 [ %v423, %done424 ], [ %v573, %join521 ]
  %v517 = phi <16 x float> [ %v512, %done424 ], [ %v572, %join521 ]
  %v518 = sub i64 %v3, %v516
  %v519 = icmp slt i64 %v518, 16
  %v520 = select i1 %v519, i64 %v518, i64 16
  br i1 %v20, label %yes521, label %no521
yes521:
  %v522 = mul i64 %v516, %v8
  %v523 = getelementptr i8, ptr %v414, i64 %v522
  call void @copy32(ptr %v523, i64 %v8, ptr %v14, i64 4, i64 %v520)
  br label %join521
no521:
  br label %join521
join521:
  %v524 = mul i64 %v516, %v17
  %v525 = getelementptr i8, ptr %v422, i64 %v524
  %v526 = icmp slt i64 %v520, 16
  %v527 = select i1 %v526, i64 %v520, i64 16
  %v528 = trunc i64 %v527 to i32
  %v529 = insertelement <16 x i32> poison, i32 %v528, i64 0
  %v530 = shufflevector <16 x i32> %v529, <16 x i32> poison, <16 x i32> zeroinitializer
  %v531 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v530
  %v532 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v525, <16 x i1> %v531, <16 x float> splat (float 0x0000000000000000))
  %v533 = fcmp olt <16 x float> %v532, splat (float 0xC05A000000000000)
  %v534 = select <16 x i1> %v533, <16 x float> splat (float 0x0000000000000000), <16 x float> %v532
  %v535 = fcmp ogt <16 x float> %v534, splat (float 0x4056400000000000)
  %v536 = select <16 x i1> %v535, <16 x float> splat (float 0x4056400000000000), <16 x float> %v534
  %v537 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v536, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v538 = fsub <16 x float> %v537, splat (float 0x4168000000000000)
  %v539 = bitcast <16 x float> %v537 to <16 x i32>
  %v540 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v541 = sub <16 x i32> %v539, %v540
  %v542 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v538, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v536)
  %v543 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v538, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v542)
  %v544 = fsub <16 x float> %v542, %v543
  %v545 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v538, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v544)
  %v546 = fmul <16 x float> %v543, %v543
  %v547 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v543, <16 x float> splat (float 0x3F8120BE20000000))
  %v548 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v547, <16 x float> %v543, <16 x float> splat (float 0x3FA5555180000000))
  %v549 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v548, <16 x float> %v543, <16 x float> splat (float 0x3FC5554DC0000000))
  %v550 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v549, <16 x float> %v543, <16 x float> splat (float 0x3FE0000000000000))
  %v551 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v546, <16 x float> %v550, <16 x float> splat (float 0x0000000000000000))
  %v552 = fadd <16 x float> %v543, %v551
  %v553 = fadd <16 x float> %v552, splat (float 0x3FF0000000000000)
  %v554 = ashr <16 x i32> %v541, splat (i32 1)
  %v555 = add <16 x i32> %v554, splat (i32 127)
  %v556 = shl <16 x i32> %v555, splat (i32 23)
  %v557 = bitcast <16 x i32> %v556 to <16 x float>
  %v558 = fmul <16 x float> %v553, %v557
  %v559 = sub <16 x i32> %v541, %v554
  %v560 = add <16 x i32> %v559, splat (i32 127)
  %v561 = shl <16 x i32> %v560, splat (i32 23)
  %v562 = bitcast <16 x i32> %v561 to <16 x float>
  %v563 = fmul <16 x float> %v558, %v562
  %v564 = select <16 x i1> %v533, <16 x float> splat (float 0x0000000000000000), <16 x float> %v563
  %v565 = fadd <16 x float> %v517, %v564
  %v566 = icmp slt i64 %v520, 16
  %v567 = select i1 %v566, i64 %v520, i64 16
  %v568 = trunc i64 %v567 to i32
  %v569 = insertelement <16 x i32> poison, i32 %v568, i64 0
  %v570 = shufflevector <16 x i32> %v569, <16 x i32> poison, <16 x i32> zeroinitializer
  %v571 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v570
  %v572 = select <16 x i1> %v571, <16 x float> %v565, <16 x float> %v517
  %v573 = add nsw i64 %v516, 16
  %v574 = icmp slt i64 %v573, %v3
  br i1 %v574, label %loop514, label %done514
done514:
  %v575 = phi <16 x float> [ %v512, %done424 ], [ %v572, %join521 ]
  %v576 = fadd <16 x float> %v575, %v513
  %v577 = shufflevector <16 x float> %v576, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v578 = shufflevector <16 x float> %v576, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v579 = fadd <8 x float> %v577, %v578
  %v580 = shufflevector <8 x float> %v579, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v581 = shufflevector <8 x float> %v579, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v582 = fadd <4 x float> %v580, %v581
  %v583 = shufflevector <4 x float> %v582, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v584 = shufflevector <4 x float> %v582, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v585 = fadd <2 x float> %v583, %v584
  %v586 = extractelement <2 x float> %v585, i64 0
  %v587 = extractelement <2 x float> %v585, i64 1
  %v588 = fadd float %v586, %v587
  store float %v588, ptr %v416, align 4
  %v589 = add nsw i64 %v412, 1
  %v590 = icmp slt i64 %v589, %v1
  br i1 %v590, label %loop410, label %done410
done410:
  br label %join203
join203:
  br label %join30
join30:
  ret i64 0
}

define internal void @copy32(ptr %s, i64 %s_step, ptr %t, i64 %t_step, i64 %count) #0 {
entry:
  %v2 = icmp slt i64 0, %count
  br i1 %v2, label %loop1, label %done1
loop1:
  %v3 = phi i64 [ 0, %entry ], [ %v9, %loop1 ]
  %v4 = mul i64 %v3, %s_step
  %v5 = getelementptr i8, ptr %s, i64 %v4
  %v6 = load i32, ptr %v5, align 4
  %v7 = mul i64 %v3, %t_step
  %v8 = getelementptr i8, ptr %t, i64 %v7
  store i32 %v6, ptr %v8, align 4
  %v9 = add nsw i64 %v3, 1
  %v10 = icmp slt i64 %v9, %count
  br i1 %v10, label %loop1, label %done1
done1:
  ret void
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v14 = alloca [128 x i8], align 64
  %v20 = alloca [128 x i8], align 64
  %v311 = alloca [64 x i8], align 64
  %v317 = alloca [64 x i8], align 64
  %v399 = alloca [64 x i8], align 64
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
  %v18 = or i1 %v16, %v15
  %v19 = xor i1 %v18, true
  %v21 = icmp eq i64 %v5, 0
  %v22 = icmp eq i64 %v5, 4
  %v23 = select i1 %v22, i64 4, i64 0
  %v24 = or i1 %v22, %v21
  %v25 = xor i1 %v24, true
  %v26 = xor i1 %v19, true
  %v27 = and i1 true, %v26
  br i1 %v27, label %yes28, label %no28
yes28:
  %v30 = icmp slt i64 0, %v1
  br i1 %v30, label %loop29, label %done29
loop29:
  %v31 = phi i64 [ 0, %yes28 ], [ %v194, %done123 ]
  %v32 = mul i64 %v31, %v5
  %v33 = getelementptr i8, ptr %v13, i64 %v32
  %v34 = mul i64 %v31, %v6
  %v35 = getelementptr i8, ptr %v12, i64 %v34
  br i1 %v15, label %yes36, label %no36
yes36:
  %v37 = load float, ptr %v33, align 4
  %v38 = insertelement <16 x float> poison, float %v37, i64 0
  %v39 = shufflevector <16 x float> %v38, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v39, ptr %v14, align 4
  %v40 = getelementptr i8, ptr %v14, i64 64
  store <16 x float> %v39, ptr %v40, align 4
  br label %join36
no36:
  br label %join36
join36:
  %v41 = select i1 %v16, ptr %v33, ptr %v14
  %v42 = and i64 %v3, -32
  %v44 = icmp slt i64 0, %v42
  br i1 %v44, label %loop43, label %done43
loop43:
  %v45 = phi i64 [ 0, %join36 ], [ %v119, %loop43 ]
  %v46 = phi <16 x float> [ splat (float 0x0000000000000000), %join36 ], [ %v82, %loop43 ]
  %v47 = phi <16 x float> [ splat (float 0x0000000000000000), %join36 ], [ %v118, %loop43 ]
  %v48 = mul i64 %v45, %v17
  %v49 = getelementptr i8, ptr %v41, i64 %v48
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
  %v82 = fadd <16 x float> %v46, %v81
  %v83 = mul i64 %v45, %v17
  %v84 = getelementptr i8, ptr %v41, i64 %v83
  %v85 = getelementptr i8, ptr %v84, i64 64
  %v86 = load <16 x float>, ptr %v85, align 4
  %v87 = fcmp olt <16 x float> %v86, splat (float 0xC05A000000000000)
  %v88 = select <16 x i1> %v87, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v86
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
  %v118 = fadd <16 x float> %v47, %v117
  %v119 = add nsw i64 %v45, 32
  %v120 = icmp slt i64 %v119, %v42
  br i1 %v120, label %loop43, label %done43
done43:
  %v121 = phi <16 x float> [ splat (float 0x0000000000000000), %join36 ], [ %v82, %loop43 ]
  %v122 = phi <16 x float> [ splat (float 0x0000000000000000), %join36 ], [ %v118, %loop43 ]
  %v124 = icmp slt i64 %v42, %v3
  br i1 %v124, label %loop123, label %done123
loop123:
  %v125 = phi i64 [ %v42, %done43 ], [ %v178, %loop123 ]
  %v126 = phi <16 x float> [ %v121, %done43 ], [ %v177, %loop123 ]
  %v127 = sub i64 %v3, %v125
  %v128 = icmp slt i64 %v127, 16
  %v129 = select i1 %v128, i64 %v127, i64 16
  %v130 = mul i64 %v125, %v17
  %v131 = getelementptr i8, ptr %v41, i64 %v130
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
  %v170 = fadd <16 x float> %v126, %v169
  %v171 = icmp slt i64 %v129, 16
  %v172 = select i1 %v171, i64 %v129, i64 16
  %v173 = trunc i64 %v172 to i32
  %v174 = insertelement <16 x i32> poison, i32 %v173, i64 0
  %v175 = shufflevector <16 x i32> %v174, <16 x i32> poison, <16 x i32> zeroinitializer
  %v176 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v175
  %v177 = select <16 x i1> %v176, <16 x float> %v170, <16 x float> %v126
  %v178 = add nsw i64 %v125, 16
  %v179 = icmp slt i64 %v178, %v3
  br i1 %v179, label %loop123, label %done123
done123:
  %v180 = phi <16 x float> [ %v121, %done43 ], [ %v177, %loop123 ]
  %v181 = fadd <16 x float> %v180, %v122
  %v182 = shufflevector <16 x float> %v181, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v183 = shufflevector <16 x float> %v181, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v184 = fadd <8 x float> %v182, %v183
  %v185 = shufflevector <8 x float> %v184, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v186 = shufflevector <8 x float> %v184, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v187 = fadd <4 x float> %v185, %v186
  %v188 = shufflevector <4 x float> %v187, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v189 = shufflevector <4 x float> %v187, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v190 = fadd <2 x float> %v188, %v189
  %v191 = extractelement <2 x float> %v190, i64 0
  %v192 = extractelement <2 x float> %v190, i64 1
  %v193 = fadd float %v191, %v192
  store float %v193, ptr %v35, align 4
  %v194 = add nsw i64 %v31, 1
  %v195 = icmp slt i64 %v194, %v1
  br i1 %v195, label %loop29, label %done29
done29:
  br label %join28
no28:
  %v196 = xor i1 %v25, true
  %v197 = and i1 true, %v196
  br i1 %v197, label %yes198, label %no198
yes198:
  %v199 = and i64 %v1, -32
  %v201 = icmp slt i64 0, %v199
  br i1 %v201, label %loop200, label %done200
loop200:
  %v202 = phi i64 [ 0, %yes198 ], [ %v318, %done203 ]
  %v204 = icmp slt i64 0, %v3
  br i1 %v204, label %loop203, label %done203
loop203:
  %v205 = phi i64 [ 0, %loop200 ], [ %v303, %done211 ]
  %v206 = phi <16 x float> [ splat (float 0x0000000000000000), %loop200 ], [ %v301, %done211 ]
  %v207 = phi <16 x float> [ splat (float 0x0000000000000000), %loop200 ], [ %v302, %done211 ]
  %v208 = add i64 %v205, 64
  %v209 = icmp slt i64 %v208, %v3
  %v210 = select i1 %v209, i64 %v208, i64 %v3
  %v212 = icmp slt i64 %v205, %v210
  br i1 %v212, label %loop211, label %done211
loop211:
  %v213 = phi i64 [ %v205, %loop203 ], [ %v297, %join220 ]
  %v214 = phi <16 x float> [ splat (float 0x0000000000000000), %loop203 ], [ %v260, %join220 ]
  %v215 = phi <16 x float> [ splat (float 0x0000000000000000), %loop203 ], [ %v296, %join220 ]
  %v216 = mul i64 %v213, %v8
  %v217 = getelementptr i8, ptr %v13, i64 %v216
  %v218 = mul i64 %v213, %v10
  %v219 = getelementptr i8, ptr %v12, i64 %v218
  br i1 %v21, label %yes220, label %no220
yes220:
  %v221 = load float, ptr %v217, align 4
  %v222 = insertelement <16 x float> poison, float %v221, i64 0
  %v223 = shufflevector <16 x float> %v222, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v223, ptr %v20, align 4
  %v224 = getelementptr i8, ptr %v20, i64 64
  store <16 x float> %v223, ptr %v224, align 4
  br label %join220
no220:
  br label %join220
join220:
  %v225 = select i1 %v22, ptr %v217, ptr %v20
  %v226 = mul i64 %v202, %v23
  %v227 = getelementptr i8, ptr %v225, i64 %v226
  %v228 = load <16 x float>, ptr %v227, align 4
  %v229 = fcmp olt <16 x float> %v228, splat (float 0xC05A000000000000)
  %v230 = select <16 x i1> %v229, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v228
  %v231 = fcmp ogt <16 x float> %v230, splat (float 0x4056400000000000)
  %v232 = select <16 x i1> %v231, <16 x float> splat (float 0x4056400000000000), <16 x float> %v230
  %v233 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v232, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v234 = fsub <16 x float> %v233, splat (float 0x4168000000000000)
  %v235 = bitcast <16 x float> %v233 to <16 x i32>
  %v236 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v237 = sub <16 x i32> %v235, %v236
  %v238 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v234, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v232)
  %v239 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v234, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v238)
  %v240 = fsub <16 x float> %v238, %v239
  %v241 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v234, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v240)
  %v242 = fmul <16 x float> %v239, %v239
  %v243 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v239, <16 x float> splat (float 0x3F8120BE20000000))
  %v244 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v243, <16 x float> %v239, <16 x float> splat (float 0x3FA5555180000000))
  %v245 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v244, <16 x float> %v239, <16 x float> splat (float 0x3FC5554DC0000000))
  %v246 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v245, <16 x float> %v239, <16 x float> splat (float 0x3FE0000000000000))
  %v247 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v242, <16 x float> %v246, <16 x float> splat (float 0x0000000000000000))
  %v248 = fadd <16 x float> %v239, %v247
  %v249 = fadd <16 x float> %v248, splat (float 0x3FF0000000000000)
  %v250 = ashr <16 x i32> %v237, splat (i32 1)
  %v251 = add <16 x i32> %v250, splat (i32 127)
  %v252 = shl <16 x i32> %v251, splat (i32 23)
  %v253 = bitcast <16 x i32> %v252 to <16 x float>
  %v254 = fmul <16 x float> %v249, %v253
  %v255 = sub <16 x i32> %v237, %v250
  %v256 = add <16 x i32> %v255, splat (i32 127)
  %v257 = shl <16 x i32> %v256, splat (i32 23)
  %v258 = bitcast <16 x i32> %v257 to <16 x float>
  %v259 = fmul <16 x float> %v254, %v258
  %v260 = fadd <16 x float> %v214, %v259
  %v261 = mul i64 %v202, %v23
  %v262 = getelementptr i8, ptr %v225, i64 %v261
  %v263 = getelementptr i8, ptr %v262, i64 64
  %v264 = load <16 x float>, ptr %v263, align 4
  %v265 = fcmp olt <16 x float> %v264, splat (float 0xC05A000000000000)
  %v266 = select <16 x i1> %v265, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v264
  %v267 = fcmp ogt <16 x float> %v266, splat (float 0x4056400000000000)
  %v268 = select <16 x i1> %v267, <16 x float> splat (float 0x4056400000000000), <16 x float> %v266
  %v269 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v268, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v270 = fsub <16 x float> %v269, splat (float 0x4168000000000000)
  %v271 = bitcast <16 x float> %v269 to <16 x i32>
  %v272 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v273 = sub <16 x i32> %v271, %v272
  %v274 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v270, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v268)
  %v275 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v270, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v274)
  %v276 = fsub <16 x float> %v274, %v275
  %v277 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v270, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v276)
  %v278 = fmul <16 x float> %v275, %v275
  %v279 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v275, <16 x float> splat (float 0x3F8120BE20000000))
  %v280 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v279, <16 x float> %v275, <16 x float> splat (float 0x3FA5555180000000))
  %v281 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v280, <16 x float> %v275, <16 x float> splat (float 0x3FC5554DC0000000))
  %v282 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v281, <16 x float> %v275, <16 x float> splat (float 0x3FE0000000000000))
  %v283 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v278, <16 x float> %v282, <16 x float> splat (float 0x0000000000000000))
  %v284 = fadd <16 x float> %v275, %v283
  %v285 = fadd <16 x float> %v284, splat (float 0x3FF0000000000000)
  %v286 = ashr <16 x i32> %v273, splat (i32 1)
  %v287 = add <16 x i32> %v286, splat (i32 127)
  %v288 = shl <16 x i32> %v287, splat (i32 23)
  %v289 = bitcast <16 x i32> %v288 to <16 x float>
  %v290 = fmul <16 x float> %v285, %v289
  %v291 = sub <16 x i32> %v273, %v286
  %v292 = add <16 x i32> %v291, splat (i32 127)
  %v293 = shl <16 x i32> %v292, splat (i32 23)
  %v294 = bitcast <16 x i32> %v293 to <16 x float>
  %v295 = fmul <16 x float> %v290, %v294
  %v296 = fadd <16 x float> %v215, %v295
  %v297 = add nsw i64 %v213, 1
  %v298 = icmp slt i64 %v297, %v210
  br i1 %v298, label %loop211, label %done211
done211:
  %v299 = phi <16 x float> [ splat (float 0x0000000000000000), %loop203 ], [ %v260, %join220 ]
  %v300 = phi <16 x float> [ splat (float 0x0000000000000000), %loop203 ], [ %v296, %join220 ]
  %v301 = fadd <16 x float> %v206, %v299
  %v302 = fadd <16 x float> %v207, %v300
  %v303 = add nsw i64 %v205, 64
  %v304 = icmp slt i64 %v303, %v3
  br i1 %v304, label %loop203, label %done203
done203:
  %v305 = phi <16 x float> [ splat (float 0x0000000000000000), %loop200 ], [ %v301, %done211 ]
  %v306 = phi <16 x float> [ splat (float 0x0000000000000000), %loop200 ], [ %v302, %done211 ]
  %v307 = mul i64 %v202, %v5
  %v308 = getelementptr i8, ptr %v13, i64 %v307
  %v309 = mul i64 %v202, %v6
  %v310 = getelementptr i8, ptr %v12, i64 %v309
  store <16 x float> %v305, ptr %v311, align 4
  call void @copy32(ptr %v311, i64 4, ptr %v310, i64 %v6, i64 16)
  %v312 = add i64 %v202, 16
  %v313 = mul i64 %v312, %v5
  %v314 = getelementptr i8, ptr %v13, i64 %v313
  %v315 = mul i64 %v312, %v6
  %v316 = getelementptr i8, ptr %v12, i64 %v315
  store <16 x float> %v306, ptr %v317, align 4
  call void @copy32(ptr %v317, i64 4, ptr %v316, i64 %v6, i64 16)
  %v318 = add nsw i64 %v202, 32
  %v319 = icmp slt i64 %v318, %v199
  br i1 %v319, label %loop200, label %done200
done200:
  %v321 = icmp slt i64 %v199, %v1
  br i1 %v321, label %loop320, label %done320
loop320:
  %v322 = phi i64 [ %v199, %done200 ], [ %v400, %done326 ]
  %v323 = sub i64 %v1, %v322
  %v324 = icmp slt i64 %v323, 16
  %v325 = select i1 %v324, i64 %v323, i64 16
  %v327 = icmp slt i64 0, %v3
  br i1 %v327, label %loop326, label %done326
loop326:
  %v328 = phi i64 [ 0, %loop320 ], [ %v392, %done333 ]
  %v329 = phi <16 x float> [ splat (float 0x0000000000000000), %loop320 ], [ %v391, %done333 ]
  %v330 = add i64 %v328, 64
  %v331 = icmp slt i64 %v330, %v3
  %v332 = select i1 %v331, i64 %v330, i64 %v3
  %v334 = icmp slt i64 %v328, %v332
  br i1 %v334, label %loop333, label %done333
loop333:
  %v335 = phi i64 [ %v328, %loop326 ], [ %v388, %join341 ]
  %v336 = phi <16 x float> [ splat (float 0x0000000000000000), %loop326 ], [ %v387, %join341 ]
  %v337 = mul i64 %v335, %v8
  %v338 = getelementptr i8, ptr %v13, i64 %v337
  %v339 = mul i64 %v335, %v10
  %v340 = getelementptr i8, ptr %v12, i64 %v339
  br i1 %v21, label %yes341, label %no341
yes341:
  %v342 = load float, ptr %v338, align 4
  %v343 = insertelement <16 x float> poison, float %v342, i64 0
  %v344 = shufflevector <16 x float> %v343, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v344, ptr %v20, align 4
  %v345 = getelementptr i8, ptr %v20, i64 64
  store <16 x float> %v344, ptr %v345, align 4
  br label %join341
no341:
  br label %join341
join341:
  %v346 = select i1 %v22, ptr %v338, ptr %v20
  %v347 = mul i64 %v322, %v23
  %v348 = getelementptr i8, ptr %v346, i64 %v347
  %v349 = icmp slt i64 %v325, 16
  %v350 = select i1 %v349, i64 %v325, i64 16
  %v351 = trunc i64 %v350 to i32
  %v352 = insertelement <16 x i32> poison, i32 %v351, i64 0
  %v353 = shufflevector <16 x i32> %v352, <16 x i32> poison, <16 x i32> zeroinitializer
  %v354 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v353
  %v355 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v348, <16 x i1> %v354, <16 x float> splat (float 0x0000000000000000))
  %v356 = fcmp olt <16 x float> %v355, splat (float 0xC05A000000000000)
  %v357 = select <16 x i1> %v356, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v355
  %v358 = fcmp ogt <16 x float> %v357, splat (float 0x4056400000000000)
  %v359 = select <16 x i1> %v358, <16 x float> splat (float 0x4056400000000000), <16 x float> %v357
  %v360 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v359, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v361 = fsub <16 x float> %v360, splat (float 0x4168000000000000)
  %v362 = bitcast <16 x float> %v360 to <16 x i32>
  %v363 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v364 = sub <16 x i32> %v362, %v363
  %v365 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v361, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v359)
  %v366 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v361, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v365)
  %v367 = fsub <16 x float> %v365, %v366
  %v368 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v361, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v367)
  %v369 = fmul <16 x float> %v366, %v366
  %v370 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v366, <16 x float> splat (float 0x3F8120BE20000000))
  %v371 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v370, <16 x float> %v366, <16 x float> splat (float 0x3FA5555180000000))
  %v372 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v371, <16 x float> %v366, <16 x float> splat (float 0x3FC5554DC0000000))
  %v373 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v372, <16 x float> %v366, <16 x float> splat (float 0x3FE0000000000000))
  %v374 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v369, <16 x float> %v373, <16 x float> splat (float 0x0000000000000000))
  %v375 = fadd <16 x float> %v366, %v374
  %v376 = fadd <16 x float> %v375, splat (float 0x3FF0000000000000)
  %v377 = ashr <16 x i32> %v364, splat (i32 1)
  %v378 = add <16 x i32> %v377, splat (i32 127)
  %v379 = shl <16 x i32> %v378, splat (i32 23)
  %v380 = bitcast <16 x i32> %v379 to <16 x float>
  %v381 = fmul <16 x float> %v376, %v380
  %v382 = sub <16 x i32> %v364, %v377
  %v383 = add <16 x i32> %v382, splat (i32 127)
  %v384 = shl <16 x i32> %v383, splat (i32 23)
  %v385 = bitcast <16 x i32> %v384 to <16 x float>
  %v386 = fmul <16 x float> %v381, %v385
  %v387 = fadd <16 x float> %v336, %v386
  %v388 = add nsw i64 %v335, 1
  %v389 = icmp slt i64 %v388, %v332
  br i1 %v389, label %loop333, label %done333
done333:
  %v390 = phi <16 x float> [ splat (float 0x0000000000000000), %loop326 ], [ %v387, %join341 ]
  %v391 = fadd <16 x float> %v329, %v390
  %v392 = add nsw i64 %v328, 64
  %v393 = icmp slt i64 %v392, %v3
  br i1 %v393, label %loop326, label %done326
done326:
  %v394 = phi <16 x float> [ splat (float 0x0000000000000000), %loop320 ], [ %v391, %done333 ]
  %v395 = mul i64 %v322, %v5
  %v396 = getelementptr i8, ptr %v13, i64 %v395
  %v397 = mul i64 %v322, %v6
  %v398 = getelementptr i8, ptr %v12, i64 %v397
  store <16 x float> %v394, ptr %v399, align 4
  call void @copy32(ptr %v399, i64 4, ptr %v398, i64 %v6, i64 %v325)
  %v400 = add nsw i64 %v322, 16
  %v401 = icmp slt i64 %v400, %v1
  br i1 %v401, label %loop320, label %done320
done320:
  br label %join198
no198:
  %v403 = icmp slt i64 0, %v1
  br i1 %v403, label %loop402, label %done402
loop402:
  %v404 = phi i64 [ 0, %no198 ], [ %v578, %done504 ]
  %v405 = mul i64 %v404, %v5
  %v406 = getelementptr i8, ptr %v13, i64 %v405
  %v407 = mul i64 %v404, %v6
  %v408 = getelementptr i8, ptr %v12, i64 %v407
  br i1 %v15, label %yes409, label %no409
yes409:
  %v410 = load float, ptr %v406, align 4
  %v411 = insertelement <16 x float> poison, float %v410, i64 0
  %v412 = shufflevector <16 x float> %v411, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v412, ptr %v14, align 4
  %v413 = getelementptr i8, ptr %v14, i64 64
  store <16 x float> %v412, ptr %v413, align 4
  br label %join409
no409:
  br label %join409
join409:
  %v414 = select i1 %v16, ptr %v406, ptr %v14
  %v415 = and i64 %v3, -32
  %v417 = icmp slt i64 0, %v415
  br i1 %v417, label %loop416, label %done416
loop416:
  %v418 = phi i64 [ 0, %join409 ], [ %v500, %join459 ]
  %v419 = phi <16 x float> [ splat (float 0x0000000000000000), %join409 ], [ %v458, %join459 ]
  %v420 = phi <16 x float> [ splat (float 0x0000000000000000), %join409 ], [ %v499, %join459 ]
  br i1 %v19, label %yes421, label %no421
yes421:
  %v422 = mul i64 %v418, %v8
  %v423 = getelementptr i8, ptr %v406, i64 %v422
  call void @copy32(ptr %v423, i64 %v8, ptr %v14, i64 4, i64 16)
  br label %join421
no421:
  br label %join421
join421:
  %v424 = mul i64 %v418, %v17
  %v425 = getelementptr i8, ptr %v414, i64 %v424
  %v426 = load <16 x float>, ptr %v425, align 4
  %v427 = fcmp olt <16 x float> %v426, splat (float 0xC05A000000000000)
  %v428 = select <16 x i1> %v427, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v426
  %v429 = fcmp ogt <16 x float> %v428, splat (float 0x4056400000000000)
  %v430 = select <16 x i1> %v429, <16 x float> splat (float 0x4056400000000000), <16 x float> %v428
  %v431 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v430, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v432 = fsub <16 x float> %v431, splat (float 0x4168000000000000)
  %v433 = bitcast <16 x float> %v431 to <16 x i32>
  %v434 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v435 = sub <16 x i32> %v433, %v434
  %v436 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v432, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v430)
  %v437 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v432, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v436)
  %v438 = fsub <16 x float> %v436, %v437
  %v439 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v432, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v438)
  %v440 = fmul <16 x float> %v437, %v437
  %v441 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v437, <16 x float> splat (float 0x3F8120BE20000000))
  %v442 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v441, <16 x float> %v437, <16 x float> splat (float 0x3FA5555180000000))
  %v443 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v442, <16 x float> %v437, <16 x float> splat (float 0x3FC5554DC0000000))
  %v444 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v443, <16 x float> %v437, <16 x float> splat (float 0x3FE0000000000000))
  %v445 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v440, <16 x float> %v444, <16 x float> splat (float 0x0000000000000000))
  %v446 = fadd <16 x float> %v437, %v445
  %v447 = fadd <16 x float> %v446, splat (float 0x3FF0000000000000)
  %v448 = ashr <16 x i32> %v435, splat (i32 1)
  %v449 = add <16 x i32> %v448, splat (i32 127)
  %v450 = shl <16 x i32> %v449, splat (i32 23)
  %v451 = bitcast <16 x i32> %v450 to <16 x float>
  %v452 = fmul <16 x float> %v447, %v451
  %v453 = sub <16 x i32> %v435, %v448
  %v454 = add <16 x i32> %v453, splat (i32 127)
  %v455 = shl <16 x i32> %v454, splat (i32 23)
  %v456 = bitcast <16 x i32> %v455 to <16 x float>
  %v457 = fmul <16 x float> %v452, %v456
  %v458 = fadd <16 x float> %v419, %v457
  br i1 %v19, label %yes459, label %no459
yes459:
  %v460 = add i64 %v418, 16
  %v461 = mul i64 %v460, %v8
  %v462 = getelementptr i8, ptr %v406, i64 %v461
  %v463 = getelementptr i8, ptr %v14, i64 64
  call void @copy32(ptr %v462, i64 %v8, ptr %v463, i64 4, i64 16)
  br label %join459
no459:
  br label %join459
join459:
  %v464 = mul i64 %v418, %v17
  %v465 = getelementptr i8, ptr %v414, i64 %v464
  %v466 = getelementptr i8, ptr %v465, i64 64
  %v467 = load <16 x float>, ptr %v466, align 4
  %v468 = fcmp olt <16 x float> %v467, splat (float 0xC05A000000000000)
  %v469 = select <16 x i1> %v468, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v467
  %v470 = fcmp ogt <16 x float> %v469, splat (float 0x4056400000000000)
  %v471 = select <16 x i1> %v470, <16 x float> splat (float 0x4056400000000000), <16 x float> %v469
  %v472 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v471, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v473 = fsub <16 x float> %v472, splat (float 0x4168000000000000)
  %v474 = bitcast <16 x float> %v472 to <16 x i32>
  %v475 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v476 = sub <16 x i32> %v474, %v475
  %v477 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v473, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v471)
  %v478 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v473, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v477)
  %v479 = fsub <16 x float> %v477, %v478
  %v480 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v473, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v479)
  %v481 = fmul <16 x float> %v478, %v478
  %v482 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v478, <16 x float> splat (float 0x3F8120BE20000000))
  %v483 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v482, <16 x float> %v478, <16 x float> splat (float 0x3FA5555180000000))
  %v484 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v483, <16 x float> %v478, <16 x float> splat (float 0x3FC5554DC0000000))
  %v485 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v484, <16 x float> %v478, <16 x float> splat (float 0x3FE0000000000000))
  %v486 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v481, <16 x float> %v485, <16 x float> splat (float 0x0000000000000000))
  %v487 = fadd <16 x float> %v478, %v486
  %v488 = fadd <16 x float> %v487, splat (float 0x3FF0000000000000)
  %v489 = ashr <16 x i32> %v476, splat (i32 1)
  %v490 = add <16 x i32> %v489, splat (i32 127)
  %v491 = shl <16 x i32> %v490, splat (i32 23)
  %v492 = bitcast <16 x i32> %v491 to <16 x float>
  %v493 = fmul <16 x float> %v488, %v492
  %v494 = sub <16 x i32> %v476, %v489
  %v495 = add <16 x i32> %v494, splat (i32 127)
  %v496 = shl <16 x i32> %v495, splat (i32 23)
  %v497 = bitcast <16 x i32> %v496 to <16 x float>
  %v498 = fmul <16 x float> %v493, %v497
  %v499 = fadd <16 x float> %v420, %v498
  %v500 = add nsw i64 %v418, 32
  %v501 = icmp slt i64 %v500, %v415
  br i1 %v501, label %loop416, label %done416
done416:
  %v502 = phi <16 x float> [ splat (float 0x0000000000000000), %join409 ], [ %v458, %join459 ]
  %v503 = phi <16 x float> [ splat (float 0x0000000000000000), %join409 ], [ %v499, %join459 ]
  %v505 = icmp slt i64 %v415, %v3
  br i1 %v505, label %loop504, label %done504
loop504:
  %v506 = phi i64 [ %v415, %done416 ], [ %v562, %join511 ]
  %v507 = phi <16 x float> [ %v502, %done416 ], [ %v561, %join511 ]
  %v508 = sub i64 %v3, %v506
  %v509 = icmp slt i64 %v508, 16
  %v510 = select i1 %v509, i64 %v508, i64 16
  br i1 %v19, label %yes511, label %no511
yes511:
  %v512 = mul i64 %v506, %v8
  %v513 = getelementptr i8, ptr %v406, i64 %v512
  call void @copy32(ptr %v513, i64 %v8, ptr %v14, i64 4, i64 %v510)
  br label %join511
no511:
  br label %join511
join511:
  %v514 = mul i64 %v506, %v17
  %v515 = getelementptr i8, ptr %v414, i64 %v514
  %v516 = icmp slt i64 %v510, 16
  %v517 = select i1 %v516, i64 %v510, i64 16
  %v518 = trunc i64 %v517 to i32
  %v519 = insertelement <16 x i32> poison, i32 %v518, i64 0
  %v520 = shufflevector <16 x i32> %v519, <16 x i32> poison, <16 x i32> zeroinitializer
  %v521 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v520
  %v522 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v515, <16 x i1> %v521, <16 x float> splat (float 0x0000000000000000))
  %v523 = fcmp olt <16 x float> %v522, splat (float 0xC05A000000000000)
  %v524 = select <16 x i1> %v523, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v522
  %v525 = fcmp ogt <16 x float> %v524, splat (float 0x4056400000000000)
  %v526 = select <16 x i1> %v525, <16 x float> splat (float 0x4056400000000000), <16 x float> %v524
  %v527 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v526, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v528 = fsub <16 x float> %v527, splat (float 0x4168000000000000)
  %v529 = bitcast <16 x float> %v527 to <16 x i32>
  %v530 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v531 = sub <16 x i32> %v529, %v530
  %v532 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v528, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v526)
  %v533 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v528, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v532)
  %v534 = fsub <16 x float> %v532, %v533
  %v535 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v528, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v534)
  %v536 = fmul <16 x float> %v533, %v533
  %v537 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v533, <16 x float> splat (float 0x3F8120BE20000000))
  %v538 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v537, <16 x float> %v533, <16 x float> splat (float 0x3FA5555180000000))
  %v539 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v538, <16 x float> %v533, <16 x float> splat (float 0x3FC5554DC0000000))
  %v540 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v539, <16 x float> %v533, <16 x float> splat (float 0x3FE0000000000000))
  %v541 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v536, <16 x float> %v540, <16 x float> splat (float 0x0000000000000000))
  %v542 = fadd <16 x float> %v533, %v541
  %v543 = fadd <16 x float> %v542, splat (float 0x3FF0000000000000)
  %v544 = ashr <16 x i32> %v531, splat (i32 1)
  %v545 = add <16 x i32> %v544, splat (i32 127)
  %v546 = shl <16 x i32> %v545, splat (i32 23)
  %v547 = bitcast <16 x i32> %v546 to <16 x float>
  %v548 = fmul <16 x float> %v543, %v547
  %v549 = sub <16 x i32> %v531, %v544
  %v550 = add <16 x i32> %v549, splat (i32 127)
  %v551 = shl <16 x i32> %v550, splat (i32 23)
  %v552 = bitcast <16 x i32> %v551 to <16 x float>
  %v553 = fmul <16 x float> %v548, %v552
  %v554 = fadd <16 x float> %v507, %v553
  %v555 = icmp slt i64 %v510, 16
  %v556 = select i1 %v555, i64 %v510, i64 16
  %v557 = trunc i64 %v556 to i32
  %v558 = insertelement <16 x i32> poison, i32 %v557, i64 0
  %v559 = shufflevector <16 x i32> %v558, <16 x i32> poison, <16 x i32> zeroinitializer
  %v560 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v559
  %v561 = select <16 x i1> %v560, <16 x float> %v554, <16 x float> %v507
  %v562 = add nsw i64 %v506, 16
  %v563 = icmp slt i64 %v562, %v3
  br i1 %v563, label %loop504, label %done504
done504:
  %v564 = phi <16 x float> [ %v502, %done416 ], [ %v561, %join511 ]
  %v565 = fadd <16 x float> %v564, %v503
  %v566 = shufflevector <16 x float> %v565, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v567 = shufflevector <16 x float> %v565, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v568 = fadd <8 x float> %v566, %v567
  %v569 = shufflevector <8 x float> %v568, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v570 = shufflevector <8 x float> %v568, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v571 = fadd <4 x float> %v569, %v570
  %v572 = shufflevector <4 x float> %v571, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v573 = shufflevector <4 x float> %v571, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v574 = fadd <2 x float> %v572, %v573
  %v575 = extractelement <2 x float> %v574, i64 0
  %v576 = extractelement <2 x float> %v574, i64 1
  %v577 = fadd float %v575, %v576
  store float %v577, ptr %v408, align 4
  %v578 = add nsw i64 %v404, 1
  %v579 = icmp slt i64 %v578, %v1
  br i1 %v579, label %loop402, label %done402
done402:
  br label %join198
join198:
  br label %join28
join28:
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

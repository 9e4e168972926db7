declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v14 = alloca [128 x i8], align 64
  %v21 = alloca [128 x i8], align 64
  %v313 = alloca [64 x i8], align 64
  %v319 = alloca [64 x i8], align 64
  %v401 = alloca [64 x i8], align 64
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
  %v33 = phi i64 [ 0, %yes30 ], [ %v196, %done125 ]
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
  %v47 = phi i64 [ 0, %join38 ], [ %v121, %loop45 ]
  %v48 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v84, %loop45 ]
  %v49 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v120, %loop45 ]
  %v50 = mul i64 %v47, %v17
  %v51 = getelementptr i8, ptr %v43, i64 %v50
  %v52 = load <16 x float>, ptr %v51, align 4
  %v53 = fcmp olt <16 x float> %v52, splat (float 0xC05A000000000000)
  %v54 = select <16 x i1> %v53, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v52
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
  %v84 = fadd <16 x float> %v48, %v83
  %v85 = mul i64 %v47, %v17
  %v86 = getelementptr i8, ptr %v43, i64 %v85
  %v87 = getelementptr i8, ptr %v86, i64 64
  %v88 = load <16 x float>, ptr %v87, align 4
  %v89 = fcmp olt <16 x float> %v88, splat (float 0xC05A000000000000)
  %v90 = select <16 x i1> %v89, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v88
  %v91 = fcmp ogt <16 x float> %v90, splat (float 0x4056400000000000)
  %v92 = select <16 x i1> %v91, <16 x float> splat (float 0x4056400000000000), <16 x float> %v90
  %v93 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v92, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v94 = fsub <16 x float> %v93, splat (float 0x4168000000000000)
  %v95 = bitcast <16 x float> %v93 to <16 x i32>
  %v96 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v97 = sub <16 x i32> %v95, %v96
  %v98 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v94, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v92)
  %v99 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v94, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v98)
  %v100 = fsub <16 x float> %v98, %v99
  %v101 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v94, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v100)
  %v102 = fmul <16 x float> %v99, %v99
  %v103 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v99, <16 x float> splat (float 0x3F8120BE20000000))
  %v104 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v103, <16 x float> %v99, <16 x float> splat (float 0x3FA5555180000000))
  %v105 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v104, <16 x float> %v99, <16 x float> splat (float 0x3FC5554DC0000000))
  %v106 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v105, <16 x float> %v99, <16 x float> splat (float 0x3FE0000000000000))
  %v107 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v102, <16 x float> %v106, <16 x float> splat (float 0x0000000000000000))
  %v108 = fadd <16 x float> %v99, %v107
  %v109 = fadd <16 x float> %v108, splat (float 0x3FF0000000000000)
  %v110 = ashr <16 x i32> %v97, splat (i32 1)
  %v111 = add <16 x i32> %v110, splat (i32 127)
  %v112 = shl <16 x i32> %v111, splat (i32 23)
  %v113 = bitcast <16 x i32> %v112 to <16 x float>
  %v114 = fmul <16 x float> %v109, %v113
  %v115 = sub <16 x i32> %v97, %v110
  %v116 = add <16 x i32> %v115, splat (i32 127)
  %v117 = shl <16 x i32> %v116, splat (i32 23)
  %v118 = bitcast <16 x i32> %v117 to <16 x float>
  %v119 = fmul <16 x float> %v114, %v118
  %v120 = fadd <16 x float> %v49, %v119
  %v121 = add nsw i64 %v47, 32
  %v122 = icmp slt i64 %v121, %v44
  br i1 %v122, label %loop45, label %done45
done45:
  %v123 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v84, %loop45 ]
  %v124 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v120, %loop45 ]
  %v126 = icmp slt i64 %v44, %v3
  br i1 %v126, label %loop125, label %done125
loop125:
  %v127 = phi i64 [ %v44, %done45 ], [ %v180, %loop125 ]
  %v128 = phi <16 x float> [ %v123, %done45 ], [ %v179, %loop125 ]
  %v129 = sub i64 %v3, %v127
  %v130 = icmp slt i64 %v129, 16
  %v131 = select i1 %v130, i64 %v129, i64 16
  %v132 = mul i64 %v127, %v17
  %v133 = getelementptr i8, ptr %v43, i64 %v132
  %v134 = icmp slt i64 %v131, 16
  %v135 = select i1 %v134, i64 %v131, i64 16
  %v136 = trunc i64 %v135 to i32
  %v137 = insertelement <16 x i32> poison, i32 %v136, i64 0
  %v138 = shufflevector <16 x i32> %v137, <16 x i32> poison, <16 x i32> zeroinitializer
  %v139 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v138
  %v140 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v133, <16 x i1> %v139, <16 x float> splat (float 0x0000000000000000))
  %v141 = fcmp olt <16 x float> %v140, splat (float 0xC05A000000000000)
  %v142 = select <16 x i1> %v141, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v140
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
  %v172 = fadd <16 x float> %v128, %v171
  %v173 = icmp slt i64 %v131, 16
  %v174 = select i1 %v173, i64 %v131, i64 16
  %v175 = trunc i64 %v174 to i32
  %v176 = insertelement <16 x i32> poison, i32 %v175, i64 0
  %v177 = shufflevector <16 x i32> %v176, <16 x i32> poison, <16 x i32> zeroinitializer
  %v178 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v177
  %v179 = select <16 x i1> %v178, <16 x float> %v172, <16 x float> %v128
  %v180 = add nsw i64 %v127, 16
  %v181 = icmp slt i64 %v180, %v3
  br i1 %v181, label %loop125, label %done125
done125:
  %v182 = phi <16 x float> [ %v123, %done45 ], [ %v179, %loop125 ]
  %v183 = fadd <16 x float> %v182, %v124
  %v184 = shufflevector <16 x float> %v183, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v185 = shufflevector <16 x float> %v183, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v186 = fadd <8 x float> %v184, %v185
  %v187 = shufflevector <8 x float> %v186, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v188 = shufflevector <8 x float> %v186, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v189 = fadd <4 x float> %v187, %v188
  %v190 = shufflevector <4 x float> %v189, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v191 = shufflevector <4 x float> %v189, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v192 = fadd <2 x float> %v190, %v191
  %v193 = extractelement <2 x float> %v192, i64 0
  %v194 = extractelement <2 x float> %v192, i64 1
  %v195 = fadd float %v193, %v194
  store float %v195, ptr %v37, align 4
  %v196 = add nsw i64 %v33, 1
  %v197 = icmp slt i64 %v196, %v1
  br i1 %v197, label %loop31, label %done31
done31:
  br label %join30
no30:
  %v198 = xor i1 %v27, true
  %v199 = and i1 true, %v198
  br i1 %v199, label %yes200, label %no200
yes200:
  %v201 = and i64 %v1, -32
  %v203 = icmp slt i64 0, %v201
  br i1 %v203, label %loop202, label %done202
loop202:
  %v204 = phi i64 [ 0, %yes200 ], [ %v320, %done205 ]
  %v206 = icmp slt i64 0, %v3
  br i1 %v206, label %loop205, label %done205
loop205:
  %v207 = phi i64 [ 0, %loop202 ], [ %v305, %done213 ]
  %v208 = phi <16 x float> [ splat (float 0x0000000000000000), %loop202 ], [ %v303, %done213 ]
  %v209 = phi <16 x float> [ splat (float 0x0000000000000000), %loop202 ], [ %v304, %done213 ]
  %v210 = add i64 %v207, 64
  %v211 = icmp slt i64 %v210, %v3
  %v212 = select i1 %v211, i64 %v210, i64 %v3
  %v214 = icmp slt i64 %v207, %v212
  br i1 %v214, label %loop213, label %done213
loop213:
  %v215 = phi i64 [ %v207, %loop205 ], [ %v299, %join222 ]
  %v216 = phi <16 x float> [ splat (float 0x0000000000000000), %loop205 ], [ %v262, %join222 ]
  %v217 = phi <16 x float> [ splat (float 0x0000000000000000), %loop205 ], [ %v298, %join222 ]
  %v218 = mul i64 %v215, %v8
  %v219 = getelementptr i8, ptr %v13, i64 %v218
  %v220 = mul i64 %v215, %v10
  %v221 = getelementptr i8, ptr %v12, i64 %v220
  br i1 %v22, label %yes222, label %no222
yes222:
  %v223 = load float, ptr %v219, align 4
  %v224 = insertelement <16 x float> poison, float %v223, i64 0
  %v225 = shufflevector <16 x float> %v224, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v225, ptr %v21, align 4
  %v226 = getelementptr i8, ptr %v21, i64 64
  store <16 x float> %v225, ptr %v226, align 4
  br label %join222
no222:
  br label %join222
join222:
  %v227 = select i1 %v23, ptr %v219, ptr %v21
  %v228 = mul i64 %v204, %v24
  %v229 = getelementptr i8, ptr %v227, i64 %v228
  %v230 = load <16 x float>, ptr %v229, align 4
  %v231 = fcmp olt <16 x float> %v230, splat (float 0xC05A000000000000)
  %v232 = select <16 x i1> %v231, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v230
  %v233 = fcmp ogt <16 x float> %v232, splat (float 0x4056400000000000)
  %v234 = select <16 x i1> %v233, <16 x float> splat (float 0x4056400000000000), <16 x float> %v232
  %v235 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v234, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v236 = fsub <16 x float> %v235, splat (float 0x4168000000000000)
  %v237 = bitcast <16 x float> %v235 to <16 x i32>
  %v238 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v239 = sub <16 x i32> %v237, %v238
  %v240 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v236, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v234)
  %v241 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v236, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v240)
  %v242 = fsub <16 x float> %v240, %v241
  %v243 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v236, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v242)
  %v244 = fmul <16 x float> %v241, %v241
  %v245 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v241, <16 x float> splat (float 0x3F8120BE20000000))
  %v246 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v245, <16 x float> %v241, <16 x float> splat (float 0x3FA5555180000000))
  %v247 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v246, <16 x float> %v241, <16 x float> splat (float 0x3FC5554DC0000000))
  %v248 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v247, <16 x float> %v241, <16 x float> splat (float 0x3FE0000000000000))
  %v249 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v244, <16 x float> %v248, <16 x float> splat (float 0x0000000000000000))
  %v250 = fadd <16 x float> %v241, %v249
  %v251 = fadd <16 x float> %v250, splat (float 0x3FF0000000000000)
  %v252 = ashr <16 x i32> %v239, splat (i32 1)
  %v253 = add <16 x i32> %v252, splat (i32 127)
  %v254 = shl <16 x i32> %v253, splat (i32 23)
  %v255 = bitcast <16 x i32> %v254 to <16 x float>
  %v256 = fmul <16 x float> %v251, %v255
  %v257 = sub <16 x i32> %v239, %v252
  %v258 = add <16 x i32> %v257, splat (i32 127)
  %v259 = shl <16 x i32> %v258, splat (i32 23)
  %v260 = bitcast <16 x i32> %v259 to <16 x float>
  %v261 = fmul <16 x float> %v256, %v260
  %v262 = fadd <16 x float> %v216, %v261
  %v263 = mul i64 %v204, %v24
  %v264 = getelementptr i8, ptr %v227, i64 %v263
  %v265 = getelementptr i8, ptr %v264, i64 64
  %v266 = load <16 x float>, ptr %v265, align 4
  %v267 = fcmp olt <16 x float> %v266, splat (float 0xC05A000000000000)
  %v268 = select <16 x i1> %v267, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v266
  %v269 = fcmp ogt <16 x float> %v268, splat (float 0x4056400000000000)
  %v270 = select <16 x i1> %v269, <16 x float> splat (float 0x4056400000000000), <16 x float> %v268
  %v271 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v270, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v272 = fsub <16 x float> %v271, splat (float 0x4168000000000000)
  %v273 = bitcast <16 x float> %v271 to <16 x i32>
  %v274 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v275 = sub <16 x i32> %v273, %v274
  %v276 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v272, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v270)
  %v277 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v272, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v276)
  %v278 = fsub <16 x float> %v276, %v277
  %v279 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v272, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v278)
  %v280 = fmul <16 x float> %v277, %v277
  %v281 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v277, <16 x float> splat (float 0x3F8120BE20000000))
  %v282 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v281, <16 x float> %v277, <16 x float> splat (float 0x3FA5555180000000))
  %v283 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v282, <16 x float> %v277, <16 x float> splat (float 0x3FC5554DC0000000))
  %v284 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v283, <16 x float> %v277, <16 x float> splat (float 0x3FE0000000000000))
  %v285 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v280, <16 x float> %v284, <16 x float> splat (float 0x0000000000000000))
  %v286 = fadd <16 x float> %v277, %v285
  %v287 = fadd <16 x float> %v286, splat (float 0x3FF0000000000000)
  %v288 = ashr <16 x i32> %v275, splat (i32 1)
  %v289 = add <16 x i32> %v288, splat (i32 127)
  %v290 = shl <16 x i32> %v289, splat (i32 23)
  %v291 = bitcast <16 x i32> %v290 to <16 x float>
  %v292 = fmul <16 x float> %v287, %v291
  %v293 = sub <16 x i32> %v275, %v288
  %v294 = add <16 x i32> %v293, splat (i32 127)
  %v295 = shl <16 x i32> %v294, splat (i32 23)
  %v296 = bitcast <16 x i32> %v295 to <16 x float>
  %v297 = fmul <16 x float> %v292, %v296
  %v298 = fadd <16 x float> %v217, %v297
  %v299 = add nsw i64 %v215, 1
  %v300 = icmp slt i64 %v299, %v212
  br i1 %v300, label %loop213, label %done213
done213:
  %v301 = phi <16 x float> [ splat (float 0x0000000000000000), %loop205 ], [ %v262, %join222 ]
  %v302 = phi <16 x float> [ splat (float 0x0000000000000000), %loop205 ], [ %v298, %join222 ]
  %v303 = fadd <16 x float> %v208, %v301
  %v304 = fadd <16 x float> %v209, %v302
  %v305 = add nsw i64 %v207, 64
  %v306 = icmp slt i64 %v305, %v3
  br i1 %v306, label %loop205, label %done205
done205:
  %v307 = phi <16 x float> [ splat (float 0x0000000000000000), %loop202 ], [ %v303, %done213 ]
  %v308 = phi <16 x float> [ splat (float 0x0000000000000000), %loop202 ], [ %v304, %done213 ]
  %v309 = mul i64 %v204, %v5
  %v310 = getelementptr i8, ptr %v13, i64 %v309
  %v311 = mul i64 %v204, %v6
  %v312 = getelementptr i8, ptr %v12, i64 %v311
  store <16 x float> %v307, ptr %v313, align 4
  call void @copy32(ptr %v313, i64 4, ptr %v312, i64 %v6, i64 16)
  %v314 = add i64 %v204, 16
  %v315 = mul i64 %v314, %v5
  %v316 = getelementptr i8, ptr %v13, i64 %v315
  %v317 = mul i64 %v314, %v6
  %v318 = getelementptr i8, ptr %v12, i64 %v317
  store <16 x float> %v308, ptr %v319, align 4
  call void @copy32(ptr %v319, i64 4, ptr %v318, i64 %v6, i64 16)
  %v320 = add nsw i64 %v204, 32
  %v321 = icmp slt i64 %v320, %v201
  br i1 %v321, label %loop202, label %done202
done202:
  %v323 = icmp slt i64 %v201, %v1
  br i1 %v323, label %loop322, label %done322
loop322:
  %v324 = phi i64 [ %v201, %done202 ], [ %v402, %done328 ]
  %v325 = sub i64 %v1, %v324
  %v326 = icmp slt i64 %v325, 16
  %v327 = select i1 %v326, i64 %v325, i64 16
  %v329 = icmp slt i64 0, %v3
  br i1 %v329, label %loop328, label %done328
loop328:
  %v330 = phi i64 [ 0, %loop322 ], [ %v394, %done335 ]
  %v331 = phi <16 x float> [ splat (float 0x0000000000000000), %loop322 ], [ %v393, %done335 ]
  %v332 = add i64 %v330, 64
  %v333 = icmp slt i64 %v332, %v3
  %v334 = select i1 %v333, i64 %v332, i64 %v3
  %v336 = icmp slt i64 %v330, %v334
  br i1 %v336, label %loop335, label %done335
loop335:
  %v337 = phi i64 [ %v330, %loop328 ], [ %v390, %join343 ]
  %v338 = phi <16 x float> [ splat (float 0x0000000000000000), %loop328 ], [ %v389, %join343 ]
  %v339 = mul i64 %v337, %v8
  %v340 = getelementptr i8, ptr %v13, i64 %v339
  %v341 = mul i64 %v337, %v10
  %v342 = getelementptr i8, ptr %v12, i64 %v341
  br i1 %v22, label %yes343, label %no343
yes343:
  %v344 = load float, ptr %v340, align 4
  %v345 = insertelement <16 x float> poison, float %v344, i64 0
  %v346 = shufflevector <16 x float> %v345, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v346, ptr %v21, align 4
  %v347 = getelementptr i8, ptr %v21, i64 64
  store <16 x float> %v346, ptr %v347, align 4
  br label %join343
no343:
  br label %join343
join343:
  %v348 = select i1 %v23, ptr %v340, ptr %v21
  %v349 = mul i64 %v324, %v24
  %v350 = getelementptr i8, ptr %v348, i64 %v349
  %v351 = icmp slt i64 %v327, 16
  %v352 = select i1 %v351, i64 %v327, i64 16
  %v353 = trunc i64 %v352 to i32
  %v354 = insertelement <16 x i32> poison, i32 %v353, i64 0
  %v355 = shufflevector <16 x i32> %v354, <16 x i32> poison, <16 x i32> zeroinitializer
  %v356 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v355
  %v357 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v350, <16 x i1> %v356, <16 x float> splat (float 0x0000000000000000))
  %v358 = fcmp olt <16 x float> %v357, splat (float 0xC05A000000000000)
  %v359 = select <16 x i1> %v358, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v357
  %v360 = fcmp ogt <16 x float> %v359, splat (float 0x4056400000000000)
  %v361 = select <16 x i1> %v360, <16 x float> splat (float 0x4056400000000000), <16 x float> %v359
  %v362 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v361, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v363 = fsub <16 x float> %v362, splat (float 0x4168000000000000)
  %v364 = bitcast <16 x float> %v362 to <16 x i32>
  %v365 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v366 = sub <16 x i32> %v364, %v365
  %v367 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v363, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v361)
  %v368 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v363, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v367)
  %v369 = fsub <16 x float> %v367, %v368
  %v370 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v363, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v369)
  %v371 = fmul <16 x float> %v368, %v368
  %v372 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v368, <16 x float> splat (float 0x3F8120BE20000000))
  %v373 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v372, <16 x float> %v368, <16 x float> splat (float 0x3FA5555180000000))
  %v374 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v373, <16 x float> %v368, <16 x float> splat (float 0x3FC5554DC0000000))
  %v375 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v374, <16 x float> %v368, <16 x float> splat (float 0x3FE0000000000000))
  %v376 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v371, <16 x float> %v375, <16 x float> splat (float 0x0000000000000000))
  %v377 = fadd <16 x float> %v368, %v376
  %v378 = fadd <16 x float> %v377, splat (float 0x3FF0000000000000)
  %v379 = ashr <16 x i32> %v366, splat (i32 1)
  %v380 = add <16 x i32> %v379, splat (i32 127)
  %v381 = shl <16 x i32> %v380, splat (i32 23)
  %v382 = bitcast <16 x i32> %v381 to <16 x float>
  %v383 = fmul <16 x float> %v378, %v382
  %v384 = sub <16 x i32> %v366, %v379
  %v385 = add <16 x i32> %v384, splat (i32 127)
  %v386 = shl <16 x i32> %v385, splat (i32 23)
  %v387 = bitcast <16 x i32> %v386 to <16 x float>
  %v388 = fmul <16 x float> %v383, %v387
  %v389 = fadd <16 x float> %v338, %v388
  %v390 = add nsw i64 %v337, 1
  %v391 = icmp slt i64 %v390, %v334
  br i1 %v391, label %loop335, label %done335
done335:
  %v392 = phi <16 x float> [ splat (float 0x0000000000000000), %loop328 ], [ %v389, %join343 ]
  %v393 = fadd <16 x float> %v331, %v392
  %v394 = add nsw i64 %v330, 64
  %v395 = icmp slt i64 %v394, %v3
  br i1 %v395, label %loop328, label %done328
done328:
  %v396 = phi <16 x float> [ splat (float 0x0000000000000000), %loop322 ], [ %v393, %done335 ]
  %v397 = mul i64 %v324, %v5
  %v398 = getelementptr i8, ptr %v13, i64 %v397
  %v399 = mul i64 %v324, %v6
  %v400 = getelementptr i8, ptr %v12, i64 %v399
  store <16 x float> %v396, ptr %v401, align 4
  call void @copy32(ptr %v401, i64 4, ptr %v400, i64 %v6, i64 %v327)
  %v402 = add nsw i64 %v324, 16
  %v403 = icmp slt i64 %v402, %v1
  br i1 %v403, label %loop322, label %done322
done322:
  br label %join200
no200:
  %v405 = icmp slt i64 0, %v1
  br i1 %v405, label %loop404, label %done404
loop404:
  %v406 = phi i64 [ 0, %no200 ], [ %v580, %done506 ]
  %v407 = mul i64 %v406, %v5
  %v408 = getelementptr i8, ptr %v13, i64 %v407
  %v409 = mul i64 %v406, %v6
  %v410 = getelementptr i8, ptr %v12, i64 %v409
  br i1 %v15, label %yes411, label %no411
yes411:
  %v412 = load float, ptr %v408, align 4
  %v413 = insertelement <16 x float> poison, float %v412, i64 0
  %v414 = shufflevector <16 x float> %v413, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v414, ptr %v14, align 4
  %v415 = getelementptr i8, ptr %v14, i64 64
  store <16 x float> %v414, ptr %v415, align 4
  br label %join411
no411:
  br label %join411
join411:
  %v416 = select i1 %v16, ptr %v408, ptr %v14
  %v417 = and i64 %v3, -32
  %v419 = icmp slt i64 0, %v417
  br i1 %v419, label %loop418, label %done418
loop418:
  %v420 = phi i64 [ 0, %join411 ], [ %v502, %join461 ]
  %v421 = phi <16 x float> [ splat (float 0x0000000000000000), %join411 ], [ %v460, %join461 ]
  %v422 = phi <16 x float> [ splat (float 0x0000000000000000), %join411 ], [ %v501, %join461 ]
  br i1 %v20, label %yes423, label %no423
yes423:
  %v424 = mul i64 %v420, %v8
  %v425 = getelementptr i8, ptr %v408, i64 %v424
  call void @copy32(ptr %v425, i64 %v8, ptr %v14, i64 4, i64 16)
  br label %join423
no423:
  br label %join423
join423:
  %v426 = mul i64 %v420, %v17
  %v427 = getelementptr i8, ptr %v416, i64 %v426
  %v428 = load <16 x float>, ptr %v427, align 4
  %v429 = fcmp olt <16 x float> %v428, splat (float 0xC05A000000000000)
  %v430 = select <16 x i1> %v429, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v428
  %v431 = fcmp ogt <16 x float> %v430, splat (float 0x4056400000000000)
  %v432 = select <16 x i1> %v431, <16 x float> splat (float 0x4056400000000000), <16 x float> %v430
  %v433 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v432, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v434 = fsub <16 x float> %v433, splat (float 0x4168000000000000)
  %v435 = bitcast <16 x float> %v433 to <16 x i32>
  %v436 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v437 = sub <16 x i32> %v435, %v436
  %v438 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v434, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v432)
  %v439 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v434, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v438)
  %v440 = fsub <16 x float> %v438, %v439
  %v441 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v434, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v440)
  %v442 = fmul <16 x float> %v439, %v439
  %v443 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v439, <16 x float> splat (float 0x3F8120BE20000000))
  %v444 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v443, <16 x float> %v439, <16 x float> splat (float 0x3FA5555180000000))
  %v445 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v444, <16 x float> %v439, <16 x float> splat (float 0x3FC5554DC0000000))
  %v446 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v445, <16 x float> %v439, <16 x float> splat (float 0x3FE0000000000000))
  %v447 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v442, <16 x float> %v446, <16 x float> splat (float 0x0000000000000000))
  %v448 = fadd <16 x float> %v439, %v447
  %v449 = fadd <16 x float> %v448, splat (float 0x3FF0000000000000)
  %v450 = ashr <16 x i32> %v437, splat (i32 1)
  %v451 = add <16 x i32> %v450, splat (i32 127)
  %v452 = shl <16 x i32> %v451, splat (i32 23)
  %v453 = bitcast <16 x i32> %v452 to <16 x float>
  %v454 = fmul <16 x float> %v449, %v453
  %v455 = sub <16 x i32> %v437, %v450
  %v456 = add <16 x i32> %v455, splat (i32 127)
  %v457 = shl <16 x i32> %v456, splat (i32 23)
  %v458 = bitcast <16 x i32> %v457 to <16 x float>
  %v459 = fmul <16 x float> %v454, %v458
  %v460 = fadd <16 x float> %v421, %v459
  br i1 %v20, label %yes461, label %no461
yes461:
  %v462 = add i64 %v420, 16
  %v463 = mul i64 %v462, %v8
  %v464 = getelementptr i8, ptr %v408, i64 %v463
  %v465 = getelementptr i8, ptr %v14, i64 64
  call void @copy32(ptr %v464, i64 %v8, ptr %v465, i64 4, i64 16)
  br label %join461
no461:
  br label %join461
join461:
  %v466 = mul i64 %v420, %v17
  %v467 = getelementptr i8, ptr %v416, i64 %v466
  %v468 = getelementptr i8, ptr %v467, i64 64
  %v469 = load <16 x float>, ptr %v468, align 4
  %v470 = fcmp olt <16 x float> %v469, splat (float 0xC05A000000000000)
  %v471 = select <16 x i1> %v470, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v469
  %v472 = fcmp ogt <16 x float> %v471, splat (float 0x4056400000000000)
  %v473 = select <16 x i1> %v472, <16 x float> splat (float 0x4056400000000000), <16 x float> %v471
  %v474 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v473, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v475 = fsub <16 x float> %v474, splat (float 0x4168000000000000)
  %v476 = bitcast <16 x float> %v474 to <16 x i32>
  %v477 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v478 = sub <16 x i32> %v476, %v477
  %v479 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v475, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v473)
  %v480 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v475, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v479)
  %v481 = fsub <16 x float> %v479, %v480
  %v482 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v475, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v481)
  %v483 = fmul <16 x float> %v480, %v480
  %v484 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v480, <16 x float> splat (float 0x3F8120BE20000000))
  %v485 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v484, <16 x float> %v480, <16 x float> splat (float 0x3FA5555180000000))
  %v486 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v485, <16 x float> %v480, <16 x float> splat (float 0x3FC5554DC0000000))
  %v487 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v486, <16 x float> %v480, <16 x float> splat (float 0x3FE0000000000000))
  %v488 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v483, <16 x float> %v487, <16 x float> splat (float 0x0000000000000000))
  %v489 = fadd <16 x float> %v480, %v488
  %v490 = fadd <16 x float> %v489, splat (float 0x3FF0000000000000)
  %v491 = ashr <16 x i32> %v478, splat (i32 1)
  %v492 = add <16 x i32> %v491, splat (i32 127)
  %v493 = shl <16 x i32> %v492, splat (i32 23)
  %v494 = bitcast <16 x i32> %v493 to <16 x float>
  %v495 = fmul <16 x float> %v490, %v494
  %v496 = sub <16 x i32> %v478, %v491
  %v497 = add <16 x i32> %v496, splat (i32 127)
  %v498 = shl <16 x i32> %v497, splat (i32 23)
  %v499 = bitcast <16 x i32> %v498 to <16 x float>
  %v500 = fmul <16 x float> %v495, %v499
  %v501 = fadd <16 x float> %v422, %v500
  %v502 = add nsw i64 %v420, 32
  %v503 = icmp slt i64 %v502, %v417
  br i1 %v503, label %loop418, label %done418
done418:
  %v504 = phi <16 x float> [ splat (float 0x0000000000000000), %join411 ], [ %v460, %join461 ]
  %v505 = phi <16 x float> [ splat (float 0x0000000000000000), %join411 ], [ %v501, %join461 ]
  %v507 = icmp slt i64 %v417, %v3
  br i1 %v507, label %loop506, label %done506
loop506:
  %v508 = phi i64 [ %v417, %done418 ], [ %v564, %join513 ]
  %v509 = phi <16 x float> [ %v504, %done418 ], [ %v563, %join513 ]
  %v510 = sub i64 %v3, %v508
  %v511 = icmp slt i64 %v510, 16
  %v512 = select i1 %v511, i64 %v510, i64 16
  br i1 %v20, label %yes513, label %no513
yes513:
  %v514 = mul i64 %v508, %v8
  %v515 = getelementptr i8, ptr %v408, i64 %v514
  call void @copy32(ptr %v515, i64 %v8, ptr %v14, i64 4, i64 %v512)
  br label %join513
no513:
  br label %join513
join513:
  %v516 = mul i64 %v508, %v17
  %v517 = getelementptr i8, ptr %v416, i64 %v516
  %v518 = icmp slt i64 %v512, 16
  %v519 = select i1 %v518, i64 %v512, i64 16
  %v520 = trunc i64 %v519 to i32
  %v521 = insertelement <16 x i32> poison, i32 %v520, i64 0
  %v522 = shufflevector <16 x i32> %v521, <16 x i32> poison, <16 x i32> zeroinitializer
  %v523 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v522
  %v524 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v517, <16 x i1> %v523, <16 x float> splat (float 0x0000000000000000))
  %v525 = fcmp olt <16 x float> %v524, splat (float 0xC05A000000000000)
  %v526 = select <16 x i1> %v525, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v524
  %v527 = fcmp ogt <16 x float> %v526, splat (float 0x4056400000000000)
  %v528 = select <16 x i1> %v527, <16 x float> splat (float 0x4056400000000000), <16 x float> %v526
  %v529 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v528, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v530 = fsub <16 x float> %v529, splat (float 0x4168000000000000)
  %v531 = bitcast <16 x float> %v529 to <16 x i32>
  %v532 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v533 = sub <16 x i32> %v531, %v532
  %v534 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v530, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v528)
  %v535 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v530, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v534)
  %v536 = fsub <16 x float> %v534, %v535
  %v537 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v530, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v536)
  %v538 = fmul <16 x float> %v535, %v535
  %v539 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v535, <16 x float> splat (float 0x3F8120BE20000000))
  %v540 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v539, <16 x float> %v535, <16 x float> splat (float 0x3FA5555180000000))
  %v541 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v540, <16 x float> %v535, <16 x float> splat (float 0x3FC5554DC0000000))
  %v542 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v541, <16 x float> %v535, <16 x float> splat (float 0x3FE0000000000000))
  %v543 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v538, <16 x float> %v542, <16 x float> splat (float 0x0000000000000000))
  %v544 = fadd <16 x float> %v535, %v543
  %v545 = fadd <16 x float> %v544, splat (float 0x3FF0000000000000)
  %v546 = ashr <16 x i32> %v533, splat (i32 1)
  %v547 = add <16 x i32> %v546, splat (i32 127)
  %v548 = shl <16 x i32> %v547, splat (i32 23)
  %v549 = bitcast <16 x i32> %v548 to <16 x float>
  %v550 = fmul <16 x float> %v545, %v549
  %v551 = sub <16 x i32> %v533, %v546
  %v552 = add <16 x i32> %v551, splat (i32 127)
  %v553 = shl <16 x i32> %v552, splat (i32 23)
  %v554 = bitcast <16 x i32> %v553 to <16 x float>
  %v555 = fmul <16 x float> %v550, %v554
  %v556 = fadd <16 x float> %v509, %v555
  %v557 = icmp slt i64 %v512, 16
  %v558 = select i1 %v557, i64 %v512, i64 16
  %v559 = trunc i64 %v558 to i32
  %v560 = insertelement <16 x i32> poison, i32 %v559, i64 0
  %v561 = shufflevector <16 x i32> %v560, <16 x i32> poison, <16 x i32> zeroinitializer
  %v562 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v561
  %v563 = select <16 x i1> %v562, <16 x float> %v556, <16 x float> %v509
  %v564 = add nsw i64 %v508, 16
  %v565 = icmp slt i64 %v564, %v3
  br i1 %v565, label %loop506, label %done506
done506:
  %v566 = phi <16 x float> [ %v504, %done418 ], [ %v563, %join513 ]
  %v567 = fadd <16 x float> %v566, %v505
  %v568 = shufflevector <16 x float> %v567, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v569 = shufflevector <16 x float> %v567, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v570 = fadd <8 x float> %v568, %v569
  %v571 = shufflevector <8 x float> %v570, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v572 = shufflevector <8 x float> %v570, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v573 = fadd <4 x float> %v571, %v572
  %v574 = shufflevector <4 x float> %v573, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v575 = shufflevector <4 x float> %v573, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v576 = fadd <2 x float> %v574, %v575
  %v577 = extractelement <2 x float> %v576, i64 0
  %v578 = extractelement <2 x float> %v576, i64 1
  %v579 = fadd float %v577, %v578
  store float %v579, ptr %v410, align 4
  %v580 = add nsw i64 %v406, 1
  %v581 = icmp slt i64 %v580, %v1
  br i1 %v581, label %loop404, label %done404
done404:
  br label %join200
join200:
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

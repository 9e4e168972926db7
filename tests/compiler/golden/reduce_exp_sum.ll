declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32 immarg)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v14 = alloca [128 x i8], align 64
  %v21 = alloca [128 x i8], align 64
  %v273 = alloca [64 x i8], align 64
  %v279 = alloca [64 x i8], align 64
  %v353 = alloca [64 x i8], align 64
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
  %v33 = phi i64 [ 0, %yes30 ], [ %v172, %done109 ]
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
  %v47 = phi i64 [ 0, %join38 ], [ %v105, %loop45 ]
  %v48 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v76, %loop45 ]
  %v49 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v104, %loop45 ]
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
  %v74 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v73, <16 x float> %v58, <16 x float> %v73, i16 -1, i32 4)
  %v75 = select <16 x i1> %v53, <16 x float> splat (float 0x0000000000000000), <16 x float> %v74
  %v76 = fadd <16 x float> %v48, %v75
  %v77 = mul i64 %v47, %v17
  %v78 = getelementptr i8, ptr %v43, i64 %v77
  %v79 = getelementptr i8, ptr %v78, i64 64
  %v80 = load <16 x float>, ptr %v79, align 4
  %v81 = fcmp olt <16 x float> %v80, splat (float 0xC05A000000000000)
  %v82 = select <16 x i1> %v81, <16 x float> splat (float 0x0000000000000000), <16 x float> %v80
  %v83 = fcmp ogt <16 x float> %v82, splat (float 0x4056400000000000)
  %v84 = select <16 x i1> %v83, <16 x float> splat (float 0x4056400000000000), <16 x float> %v82
  %v85 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v84, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v86 = fsub <16 x float> %v85, splat (float 0x4168000000000000)
  %v87 = bitcast <16 x float> %v85 to <16 x i32>
  %v88 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v89 = sub <16 x i32> %v87, %v88
  %v90 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v86, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v84)
  %v91 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v86, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v90)
  %v92 = fsub <16 x float> %v90, %v91
  %v93 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v86, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v92)
  %v94 = fmul <16 x float> %v91, %v91
  %v95 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v91, <16 x float> splat (float 0x3F8120BE20000000))
  %v96 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v95, <16 x float> %v91, <16 x float> splat (float 0x3FA5555180000000))
  %v97 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v96, <16 x float> %v91, <16 x float> splat (float 0x3FC5554DC0000000))
  %v98 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v97, <16 x float> %v91, <16 x float> splat (float 0x3FE0000000000000))
  %v99 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v94, <16 x float> %v98, <16 x float> splat (float 0x0000000000000000))
  %v100 = fadd <16 x float> %v91, %v99
  %v101 = fadd <16 x float> %v100, splat (float 0x3FF0000000000000)
  %v102 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v101, <16 x float> %v86, <16 x float> %v101, i16 -1, i32 4)
  %v103 = select <16 x i1> %v81, <16 x float> splat (float 0x0000000000000000), <16 x float> %v102
  %v104 = fadd <16 x float> %v49, %v103
  %v105 = add nsw i64 %v47, 32
  %v106 = icmp slt i64 %v105, %v44
  br i1 %v106, label %loop45, label %done45
done45:
  %v107 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v76, %loop45 ]
  %v108 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v104, %loop45 ]
  %v110 = icmp slt i64 %v44, %v3
  br i1 %v110, label %loop109, label %done109
loop109:
  %v111 = phi i64 [ %v44, %done45 ], [ %v156, %loop109 ]
  %v112 = phi <16 x float> [ %v107, %done45 ], [ %v155, %loop109 ]
  %v113 = sub i64 %v3, %v111
  %v114 = icmp slt i64 %v113, 16
  %v115 = select i1 %v114, i64 %v113, i64 16
  %v116 = mul i64 %v111, %v17
  %v117 = getelementptr i8, ptr %v43, i64 %v116
  %v118 = icmp slt i64 %v115, 16
  %v119 = select i1 %v118, i64 %v115, i64 16
  %v120 = trunc i64 %v119 to i32
  %v121 = insertelement <16 x i32> poison, i32 %v120, i64 0
  %v122 = shufflevector <16 x i32> %v121, <16 x i32> poison, <16 x i32> zeroinitializer
  %v123 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v122
  %v124 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v117, <16 x i1> %v123, <16 x float> splat (float 0x0000000000000000))
  %v125 = fcmp olt <16 x float> %v124, splat (float 0xC05A000000000000)
  %v126 = select <16 x i1> %v125, <16 x float> splat (float 0x0000000000000000), <16 x float> %v124
  %v127 = fcmp ogt <16 x float> %v126, splat (float 0x4056400000000000)
  %v128 = select <16 x i1> %v127, <16 x float> splat (float 0x4056400000000000), <16 x float> %v126
  %v129 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v128, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v130 = fsub <16 x float> %v129, splat (float 0x4168000000000000)
  %v131 = bitcast <16 x float> %v129 to <16 x i32>
  %v132 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v133 = sub <16 x i32> %v131, %v132
  %v134 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v130, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v128)
  %v135 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v130, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v134)
  %v136 = fsub <16 x float> %v134, %v135
  %v137 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v130, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v136)
  %v138 = fmul <16 x float> %v135, %v135
  %v139 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v135, <16 x float> splat (float 0x3F8120BE20000000))
  %v140 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v139, <16 x float> %v135, <16 x float> splat (float 0x3FA5555180000000))
  %v141 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v140, <16 x float> %v135, <16 x float> splat (float 0x3FC5554DC0000000))
  %v142 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v141, <16 x float> %v135, <16 x float> splat (float 0x3FE0000000000000))
  %v143 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v138, <16 x float> %v142, <16 x float> splat (float 0x0000000000000000))
  %v144 = fadd <16 x float> %v135, %v143
  %v145 = fadd <16 x float> %v144, splat (float 0x3FF0000000000000)
  %v146 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v145, <16 x float> %v130, <16 x float> %v145, i16 -1, i32 4)
  %v147 = select <16 x i1> %v125, <16 x float> splat (float 0x0000000000000000), <16 x float> %v146
  %v148 = fadd <16 x float> %v112, %v147
  %v149 = icmp slt i64 %v115, 16
  %v150 = select i1 %v149, i64 %v115, i64 16
  %v151 = trunc i64 %v150 to i32
  %v152 = insertelement <16 x i32> poison, i32 %v151, i64 0
  %v153 = shufflevector <16 x i32> %v152, <16 x i32> poison, <16 x i32> zeroinitializer
  %v154 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v153
  %v155 = select <16 x i1> %v154, <16 x float> %v148, <16 x float> %v112
  %v156 = add nsw i64 %v111, 16
  %v157 = icmp slt i64 %v156, %v3
  br i1 %v157, label %loop109, label %done109
done109:
  %v158 = phi <16 x float> [ %v107, %done45 ], [ %v155, %loop109 ]
  %v159 = fadd <16 x float> %v158, %v108
  %v160 = shufflevector <16 x float> %v159, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v161 = shufflevector <16 x float> %v159, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v162 = fadd <8 x float> %v160, %v161
  %v163 = shufflevector <8 x float> %v162, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v164 = shufflevector <8 x float> %v162, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v165 = fadd <4 x float> %v163, %v164
  %v166 = shufflevector <4 x float> %v165, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v167 = shufflevector <4 x float> %v165, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v168 = fadd <2 x float> %v166, %v167
  %v169 = extractelement <2 x float> %v168, i64 0
  %v170 = extractelement <2 x float> %v168, i64 1
  %v171 = fadd float %v169, %v170
  store float %v171, ptr %v37, align 4
  %v172 = add nsw i64 %v33, 1
  %v173 = icmp slt i64 %v172, %v1
  br i1 %v173, label %loop31, label %done31
done31:
  br label %join30
no30:
  %v174 = xor i1 %v27, true
  %v175 = and i1 true, %v174
  br i1 %v175, label %yes176, label %no176
yes176:
  %v177 = and i64 %v1, -32
  %v179 = icmp slt i64 0, %v177
  br i1 %v179, label %loop178, label %done178
loop178:
  %v180 = phi i64 [ 0, %yes176 ], [ %v280, %done181 ]
  %v182 = icmp slt i64 0, %v3
  br i1 %v182, label %loop181, label %done181
loop181:
  %v183 = phi i64 [ 0, %loop178 ], [ %v265, %done189 ]
  %v184 = phi <16 x float> [ splat (float 0x0000000000000000), %loop178 ], [ %v263, %done189 ]
  %v185 = phi <16 x float> [ splat (float 0x0000000000000000), %loop178 ], [ %v264, %done189 ]
  %v186 = add i64 %v183, 64
  %v187 = icmp slt i64 %v186, %v3
  %v188 = select i1 %v187, i64 %v186, i64 %v3
  %v190 = icmp slt i64 %v183, %v188
  br i1 %v190, label %loop189, label %done189
loop189:
  %v191 = phi i64 [ %v183, %loop181 ], [ %v259, %join198 ]
  %v192 = phi <16 x float> [ splat (float 0x0000000000000000), %loop181 ], [ %v230, %join198 ]
  %v193 = phi <16 x float> [ splat (float 0x0000000000000000), %loop181 ], [ %v258, %join198 ]
  %v194 = mul i64 %v191, %v8
  %v195 = getelementptr i8, ptr %v13, i64 %v194
  %v196 = mul i64 %v191, %v10
  %v197 = getelementptr i8, ptr %v12, i64 %v196
  br i1 %v22, label %yes198, label %no198
yes198:
  %v199 = load float, ptr %v195, align 4
  %v200 = insertelement <16 x float> poison, float %v199, i64 0
  %v201 = shufflevector <16 x float> %v200, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v201, ptr %v21, align 4
  %v202 = getelementptr i8, ptr %v21, i64 64
  store <16 x float> %v201, ptr %v202, align 4
  br label %join198
no198:
  br label %join198
join198:
  %v203 = select i1 %v23, ptr %v195, ptr %v21
  %v204 = mul i64 %v180, %v24
  %v205 = getelementptr i8, ptr %v203, i64 %v204
  %v206 = load <16 x float>, ptr %v205, align 4
  %v207 = fcmp olt <16 x float> %v206, splat (float 0xC05A000000000000)
  %v208 = select <16 x i1> %v207, <16 x float> splat (float 0x0000000000000000), <16 x float> %v206
  %v209 = fcmp ogt <16 x float> %v208, splat (float 0x4056400000000000)
  %v210 = select <16 x i1> %v209, <16 x float> splat (float 0x4056400000000000), <16 x float> %v208
  %v211 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v210, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v212 = fsub <16 x float> %v211, splat (float 0x4168000000000000)
  %v213 = bitcast <16 x float> %v211 to <16 x i32>
  %v214 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v215 = sub <16 x i32> %v213, %v214
  %v216 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v212, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v210)
  %v217 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v212, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v216)
  %v218 = fsub <16 x float> %v216, %v217
  %v219 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v212, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v218)
  %v220 = fmul <16 x float> %v217, %v217
  %v221 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v217, <16 x float> splat (float 0x3F8120BE20000000))
  %v222 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v221, <16 x float> %v217, <16 x float> splat (float 0x3FA5555180000000))
  %v223 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v222, <16 x float> %v217, <16 x float> splat (float 0x3FC5554DC0000000))
  %v224 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v223, <16 x float> %v217, <16 x float> splat (float 0x3FE0000000000000))
  %v225 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v220, <16 x float> %v224, <16 x float> splat (float 0x0000000000000000))
  %v226 = fadd <16 x float> %v217, %v225
  %v227 = fadd <16 x float> %v226, splat (float 0x3FF0000000000000)
  %v228 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v227, <16 x float> %v212, <16 x float> %v227, i16 -1, i32 4)
  %v229 = select <16 x i1> %v207, <16 x float> splat (float 0x0000000000000000), <16 x float> %v228
  %v230 = fadd <16 x float> %v192, %v229
  %v231 = mul i64 %v180, %v24
  %v232 = getelementptr i8, ptr %v203, i64 %v231
  %v233 = getelementptr i8, ptr %v232, i64 64
  %v234 = load <16 x float>, ptr %v233, align 4
  %v235 = fcmp olt <16 x float> %v234, splat (float 0xC05A000000000000)
  %v236 = select <16 x i1> %v235, <16 x float> splat (float 0x0000000000000000), <16 x float> %v234
  %v237 = fcmp ogt <16 x float> %v236, splat (float 0x4056400000000000)
  %v238 = select <16 x i1> %v237, <16 x float> splat (float 0x4056400000000000), <16 x float> %v236
  %v239 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v238, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v240 = fsub <16 x float> %v239, splat (float 0x4168000000000000)
  %v241 = bitcast <16 x float> %v239 to <16 x i32>
  %v242 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v243 = sub <16 x i32> %v241, %v242
  %v244 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v240, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v238)
  %v245 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v240, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v244)
  %v246 = fsub <16 x float> %v244, %v245
  %v247 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v240, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v246)
  %v248 = fmul <16 x float> %v245, %v245
  %v249 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v245, <16 x float> splat (float 0x3F8120BE20000000))
  %v250 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v249, <16 x float> %v245, <16 x float> splat (float 0x3FA5555180000000))
  %v251 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v250, <16 x float> %v245, <16 x float> splat (float 0x3FC5554DC0000000))
  %v252 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v251, <16 x float> %v245, <16 x float> splat (float 0x3FE0000000000000))
  %v253 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v248, <16 x float> %v252, <16 x float> splat (float 0x0000000000000000))
  %v254 = fadd <16 x float> %v245, %v253
  %v255 = fadd <16 x float> %v254, splat (float 0x3FF0000000000000)
  %v256 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v255, <16 x float> %v240, <16 x float> %v255, i16 -1, i32 4)
  %v257 = select <16 x i1> %v235, <16 x float> splat (float 0x0000000000000000), <16 x float> %v256
  %v258 = fadd <16 x float> %v193, %v257
  %v259 = add nsw i64 %v191, 1
  %v260 = icmp slt i64 %v259, %v188
  br i1 %v260, label %loop189, label %done189
done189:
  %v261 = phi <16 x float> [ splat (float 0x0000000000000000), %loop181 ], [ %v230, %join198 ]
  %v262 = phi <16 x float> [ splat (float 0x0000000000000000), %loop181 ], [ %v258, %join198 ]
  %v263 = fadd <16 x float> %v184, %v261
  %v264 = fadd <16 x float> %v185, %v262
  %v265 = add nsw i64 %v183, 64
  %v266 = icmp slt i64 %v265, %v3
  br i1 %v266, label %loop181, label %done181
done181:
  %v267 = phi <16 x float> [ splat (float 0x0000000000000000), %loop178 ], [ %v263, %done189 ]
  %v268 = phi <16 x float> [ splat (float 0x0000000000000000), %loop178 ], [ %v264, %done189 ]
  %v269 = mul i64 %v180, %v5
  %v270 = getelementptr i8, ptr %v13, i64 %v269
  %v271 = mul i64 %v180, %v6
  %v272 = getelementptr i8, ptr %v12, i64 %v271
  store <16 x float> %v267, ptr %v273, align 4
  call void @copy32(ptr %v273, i64 4, ptr %v272, i64 %v6, i64 16)
  %v274 = add i64 %v180, 16
  %v275 = mul i64 %v274, %v5
  %v276 = getelementptr i8, ptr %v13, i64 %v275
  %v277 = mul i64 %v274, %v6
  %v278 = getelementptr i8, ptr %v12, i64 %v277
  store <16 x float> %v268, ptr %v279, align 4
  call void @copy32(ptr %v279, i64 4, ptr %v278, i64 %v6, i64 16)
  %v280 = add nsw i64 %v180, 32
  %v281 = icmp slt i64 %v280, %v177
  br i1 %v281, label %loop178, label %done178
done178:
  %v283 = icmp slt i64 %v177, %v1
  br i1 %v283, label %loop282, label %done282
loop282:
  %v284 = phi i64 [ %v177, %done178 ], [ %v354, %done288 ]
  %v285 = sub i64 %v1, %v284
  %v286 = icmp slt i64 %v285, 16
  %v287 = select i1 %v286, i64 %v285, i64 16
  %v289 = icmp slt i64 0, %v3
  br i1 %v289, label %loop288, label %done288
loop288:
  %v290 = phi i64 [ 0, %loop282 ], [ %v346, %done295 ]
  %v291 = phi <16 x float> [ splat (float 0x0000000000000000), %loop282 ], [ %v345, %done295 ]
  %v292 = add i64 %v290, 64
  %v293 = icmp slt i64 %v292, %v3
  %v294 = select i1 %v293, i64 %v292, i64 %v3
  %v296 = icmp slt i64 %v290, %v294
  br i1 %v296, label %loop295, label %done295
loop295:
  %v297 = phi i64 [ %v290, %loop288 ], [ %v342, %join303 ]
  %v298 = phi <16 x float> [ splat (float 0x0000000000000000), %loop288 ], [ %v341, %join303 ]
  %v299 = mul i64 %v297, %v8
  %v300 = getelementptr i8, ptr %v13, i64 %v299
  %v301 = mul i64 %v297, %v10
  %v302 = getelementptr i8, ptr %v12, i64 %v301
  br i1 %v22, label %yes303, label %no303
yes303:
  %v304 = load float, ptr %v300, align 4
  %v305 = insertelement <16 x float> poison, float %v304, i64 0
  %v306 = shufflevector <16 x float> %v305, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v306, ptr %v21, align 4
  %v307 = getelementptr i8, ptr %v21, i64 64
  store <16 x float> %v306, ptr %v307, align 4
  br label %join303
no303:
  br label %join303
join303:
  %v308 = select i1 %v23, ptr %v300, ptr %v21
  %v309 = mul i64 %v284, %v24
  %v310 = getelementptr i8, ptr %v308, i64 %v309
  %v311 = icmp slt i64 %v287, 16
  %v312 = select i1 %v311, i64 %v287, i64 16
  %v313 = trunc i64 %v312 to i32
  %v314 = insertelement <16 x i32> poison, i32 %v313, i64 0
  %v315 = shufflevector <16 x i32> %v314, <16 x i32> poison, <16 x i32> zeroinitializer
  %v316 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v315
  %v317 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v310, <16 x i1> %v316, <16 x float> splat (float 0x0000000000000000))
  %v318 = fcmp olt <16 x float> %v317, splat (float 0xC05A000000000000)
  %v319 = select <16 x i1> %v318, <16 x float> splat (float 0x0000000000000000), <16 x float> %v317
  %v320 = fcmp ogt <16 x float> %v319, splat (float 0x4056400000000000)
  %v321 = select <16 x i1> %v320, <16 x float> splat (float 0x4056400000000000), <16 x float> %v319
  %v322 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v321, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v323 = fsub <16 x float> %v322, splat (float 0x4168000000000000)
  %v324 = bitcast <16 x float> %v322 to <16 x i32>
  %v325 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v326 = sub <16 x i32> %v324, %v325
  %v327 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v323, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v321)
  %v328 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v323, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v327)
  %v329 = fsub <16 x float> %v327, %v328
  %v330 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v323, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v329)
  %v331 = fmul <16 x float> %v328, %v328
  %v332 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v328, <16 x float> splat (float 0x3F8120BE20000000))
  %v333 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v332, <16 x float> %v328, <16 x float> splat (float 0x3FA5555180000000))
  %v334 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v333, <16 x float> %v328, <16 x float> splat (float 0x3FC5554DC0000000))
  %v335 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v334, <16 x float> %v328, <16 x float> splat (float 0x3FE0000000000000))
  %v336 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v331, <16 x float> %v335, <16 x float> splat (float 0x0000000000000000))
  %v337 = fadd <16 x float> %v328, %v336
  %v338 = fadd <16 x float> %v337, splat (float 0x3FF0000000000000)
  %v339 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v338, <16 x float> %v323, <16 x float> %v338, i16 -1, i32 4)
  %v340 = select <16 x i1> %v318, <16 x float> splat (float 0x0000000000000000), <16 x float> %v339
  %v341 = fadd <16 x float> %v298, %v340
  %v342 = add nsw i64 %v297, 1
  %v343 = icmp slt i64 %v342, %v294
  br i1 %v343, label %loop295, label %done295
done295:
  %v344 = phi <16 x float> [ splat (float 0x0000000000000000), %loop288 ], [ %v341, %join303 ]
  %v345 = fadd <16 x float> %v291, %v344
  %v346 = add nsw i64 %v290, 64
  %v347 = icmp slt i64 %v346, %v3
  br i1 %v347, label %loop288, label %done288
done288:
  %v348 = phi <16 x float> [ splat (float 0x0000000000000000), %loop282 ], [ %v345, %done295 ]
  %v349 = mul i64 %v284, %v5
  %v350 = getelementptr i8, ptr %v13, i64 %v349
  %v351 = mul i64 %v284, %v6
  %v352 = getelementptr i8, ptr %v12, i64 %v351
  store <16 x float> %v348, ptr %v353, align 4
  call void @copy32(ptr %v353, i64 4, ptr %v352, i64 %v6, i64 %v287)
  %v354 = add nsw i64 %v284, 16
  %v355 = icmp slt i64 %v354, %v1
  br i1 %v355, label %loop282, label %done282
done282:
  br label %join176
no176:
  %v357 = icmp slt i64 0, %v1
  br i1 %v357, label %loop356, label %done356
loop356:
  %v358 = phi i64 [ 0, %no176 ], [ %v508, %done442 ]
  %v359 = mul i64 %v358, %v5
  %v360 = getelementptr i8, ptr %v13, i64 %v359
  %v361 = mul i64 %v358, %v6
  %v362 = getelementptr i8, ptr %v12, i64 %v361
  br i1 %v15, label %yes363, label %no363
yes363:
  %v364 = load float, ptr %v360, align 4
  %v365 = insertelement <16 x float> poison, float %v364, i64 0
  %v366 = shufflevector <16 x float> %v365, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v366, ptr %v14, align 4
  %v367 = getelementptr i8, ptr %v14, i64 64
  store <16 x float> %v366, ptr %v367, align 4
  br label %join363
no363:
  br label %join363
join363:
  %v368 = select i1 %v16, ptr %v360, ptr %v14
  %v369 = and i64 %v3, -32
  %v371 = icmp slt i64 0, %v369
  br i1 %v371, label %loop370, label %done370
loop370:
  %v372 = phi i64 [ 0, %join363 ], [ %v438, %join405 ]
  %v373 = phi <16 x float> [ splat (float 0x0000000000000000), %join363 ], [ %v404, %join405 ]
  %v374 = phi <16 x float> [ splat (float 0x0000000000000000), %join363 ], [ %v437, %join405 ]
  br i1 %v20, label %yes375, label %no375
yes375:
  %v376 = mul i64 %v372, %v8
  %v377 = getelementptr i8, ptr %v360, i64 %v376
  call void @copy32(ptr %v377, i64 %v8, ptr %v14, i64 4, i64 16)
  br label %join375
no375:
  br label %join375
join375:
  %v378 = mul i64 %v372, %v17
  %v379 = getelementptr i8, ptr %v368, i64 %v378
  %v380 = load <16 x float>, ptr %v379, align 4
  %v381 = fcmp olt <16 x float> %v380, splat (float 0xC05A000000000000)
  %v382 = select <16 x i1> %v381, <16 x float> splat (float 0x0000000000000000), <16 x float> %v380
  %v383 = fcmp ogt <16 x float> %v382, splat (float 0x4056400000000000)
  %v384 = select <16 x i1> %v383, <16 x float> splat (float 0x4056400000000000), <16 x float> %v382
  %v385 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v384, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v386 = fsub <16 x float> %v385, splat (float 0x4168000000000000)
  %v387 = bitcast <16 x float> %v385 to <16 x i32>
  %v388 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v389 = sub <16 x i32> %v387, %v388
  %v390 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v386, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v384)
  %v391 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v386, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v390)
  %v392 = fsub <16 x float> %v390, %v391
  %v393 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v386, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v392)
  %v394 = fmul <16 x float> %v391, %v391
  %v395 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v391, <16 x float> splat (float 0x3F8120BE20000000))
  %v396 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v395, <16 x float> %v391, <16 x float> splat (float 0x3FA5555180000000))
  %v397 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v396, <16 x float> %v391, <16 x float> splat (float 0x3FC5554DC0000000))
  %v398 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v397, <16 x float> %v391, <16 x float> splat (float 0x3FE0000000000000))
  %v399 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v394, <16 x float> %v398, <16 x float> splat (float 0x0000000000000000))
  %v400 = fadd <16 x float> %v391, %v399
  %v401 = fadd <16 x float> %v400, splat (float 0x3FF0000000000000)
  %v402 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v401, <16 x float> %v386, <16 x float> %v401, i16 -1, i32 4)
  %v403 = select <16 x i1> %v381, <16 x float> splat (float 0x0000000000000000), <16 x float> %v402
  %v404 = fadd <16 x float> %v373, %v403
  br i1 %v20, label %yes405, label %no405
yes405:
  %v406 = add i64 %v372, 16
  %v407 = mul i64 %v406, %v8
  %v408 = getelementptr i8, ptr %v360, i64 %v407
  %v409 = getelementptr i8, ptr %v14, i64 64
  call void @copy32(ptr %v408, i64 %v8, ptr %v409, i64 4, i64 16)
  br label %join405
no405:
  br label %join405
join405:
  %v410 = mul i64 %v372, %v17
  %v411 = getelementptr i8, ptr %v368, i64 %v410
  %v412 = getelementptr i8, ptr %v411, i64 64
  %v413 = load <16 x float>, ptr %v412, align 4
  %v414 = fcmp olt <16 x float> %v413, splat (float 0xC05A000000000000)
  %v415 = select <16 x i1> %v414, <16 x float> splat (float 0x0000000000000000), <16 x float> %v413
  %v416 = fcmp ogt <16 x float> %v415, splat (float 0x4056400000000000)
  %v417 = select <16 x i1> %v416, <16 x float> splat (float 0x4056400000000000), <16 x float> %v415
  %v418 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v417, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v419 = fsub <16 x float> %v418, splat (float 0x4168000000000000)
  %v420 = bitcast <16 x float> %v418 to <16 x i32>
  %v421 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v422 = sub <16 x i32> %v420, %v421
  %v423 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v419, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v417)
  %v424 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v419, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v423)
  %v425 = fsub <16 x float> %v423, %v424
  %v426 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v419, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v425)
  %v427 = fmul <16 x float> %v424, %v424
  %v428 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v424, <16 x float> splat (float 0x3F8120BE20000000))
  %v429 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v428, <16 x float> %v424, <16 x float> splat (float 0x3FA5555180000000))
  %v430 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v429, <16 x float> %v424, <16 x float> splat (float 0x3FC5554DC0000000))
  %v431 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v430, <16 x float> %v424, <16 x float> splat (float 0x3FE0000000000000))
  %v432 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v427, <16 x float> %v431, <16 x float> splat (float 0x0000000000000000))
  %v433 = fadd <16 x float> %v424, %v432
  %v434 = fadd <16 x float> %v433, splat (float 0x3FF0000000000000)
  %v435 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v434, <16 x float> %v419, <16 x float> %v434, i16 -1, i32 4)
  %v436 = select <16 x i1> %v414, <16 x float> splat (float 0x0000000000000000), <16 x float> %v435
  %v437 = fadd <16 x float> %v374, %v436
  %v438 = add nsw i64 %v372, 32
  %v439 = icmp slt i64 %v438, %v369
  br i1 %v439, label %loop370, label %done370
done370:
  %v440 = phi <16 x float> [ splat (float 0x0000000000000000), %join363 ], [ %v404, %join405 ]
  %v441 = phi <16 x float> [ splat (float 0x0000000000000000), %join363 ], [ %v437, %join405 ]
  %v443 = icmp slt i64 %v369, %v3
  br i1 %v443, label %loop442, label %done442
loop442:
  %v444 = phi i64 [ %v369, %done370 ], [ %v492, %join449 ]
  %v445 = phi <16 x float> [ %v440, %done370 ], [ %v491, %join449 ]
  %v446 = sub i64 %v3, %v444
  %v447 = icmp slt i64 %v446, 16
  %v448 = select i1 %v447, i64 %v446, i64 16
  br i1 %v20, label %yes449, label %no449
yes449:
  %v450 = mul i64 %v444, %v8
  %v451 = getelementptr i8, ptr %v360, i64 %v450
  call void @copy32(ptr %v451, i64 %v8, ptr %v14, i64 4, i64 %v448)
  br label %join449
no449:
  br label %join449
join449:
  %v452 = mul i64 %v444, %v17
  %v453 = getelementptr i8, ptr %v368, i64 %v452
  %v454 = icmp slt i64 %v448, 16
  %v455 = select i1 %v454, i64 %v448, i64 16
  %v456 = trunc i64 %v455 to i32
  %v457 = insertelement <16 x i32> poison, i32 %v456, i64 0
  %v458 = shufflevector <16 x i32> %v457, <16 x i32> poison, <16 x i32> zeroinitializer
  %v459 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v458
  %v460 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v453, <16 x i1> %v459, <16 x float> splat (float 0x0000000000000000))
  %v461 = fcmp olt <16 x float> %v460, splat (float 0xC05A000000000000)
  %v462 = select <16 x i1> %v461, <16 x float> splat (float 0x0000000000000000), <16 x float> %v460
  %v463 = fcmp ogt <16 x float> %v462, splat (float 0x4056400000000000)
  %v464 = select <16 x i1> %v463, <16 x float> splat (float 0x4056400000000000), <16 x float> %v462
  %v465 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v464, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v466 = fsub <16 x float> %v465, splat (float 0x4168000000000000)
  %v467 = bitcast <16 x float> %v465 to <16 x i32>
  %v468 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v469 = sub <16 x i32> %v467, %v468
  %v470 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v466, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v464)
  %v471 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v466, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v470)
  %v472 = fsub <16 x float> %v470, %v471
  %v473 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v466, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v472)
  %v474 = fmul <16 x float> %v471, %v471
  %v475 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v471, <16 x float> splat (float 0x3F8120BE20000000))
  %v476 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v475, <16 x float> %v471, <16 x float> splat (float 0x3FA5555180000000))
  %v477 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v476, <16 x float> %v471, <16 x float> splat (float 0x3FC5554DC0000000))
  %v478 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v477, <16 x float> %v471, <16 x float> splat (float 0x3FE0000000000000))
  %v479 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v474, <16 x float> %v478, <16 x float> splat (float 0x0000000000000000))
  %v480 = fadd <16 x float> %v471, %v479
  %v481 = fadd <16 x float> %v480, splat (float 0x3FF0000000000000)
  %v482 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v481, <16 x float> %v466, <16 x float> %v481, i16 -1, i32 4)
  %v483 = select <16 x i1> %v461, <16 x float> splat (float 0x0000000000000000), <16 x float> %v482
  %v484 = fadd <16 x float> %v445, %v483
  %v485 = icmp slt i64 %v448, 16
  %v486 = select i1 %v485, i64 %v448, i64 16
  %v487 = trunc i64 %v486 to i32
  %v488 = insertelement <16 x i32> poison, i32 %v487, i64 0
  %v489 = shufflevector <16 x i32> %v488, <16 x i32> poison, <16 x i32> zeroinitializer
  %v490 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v489
  %v491 = select <16 x i1> %v490, <16 x float> %v484, <16 x float> %v445
  %v492 = add nsw i64 %v444, 16
  %v493 = icmp slt i64 %v492, %v3
  br i1 %v493, label %loop442, label %done442
done442:
  %v494 = phi <16 x float> [ %v440, %done370 ], [ %v491, %join449 ]
  %v495 = fadd <16 x float> %v494, %v441
  %v496 = shufflevector <16 x float> %v495, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v497 = shufflevector <16 x float> %v495, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v498 = fadd <8 x float> %v496, %v497
  %v499 = shufflevector <8 x float> %v498, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v500 = shufflevector <8 x float> %v498, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v501 = fadd <4 x float> %v499, %v500
  %v502 = shufflevector <4 x float> %v501, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v503 = shufflevector <4 x float> %v501, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v504 = fadd <2 x float> %v502, %v503
  %v505 = extractelement <2 x float> %v504, i64 0
  %v506 = extractelement <2 x float> %v504, i64 1
  %v507 = fadd float %v505, %v506
  store float %v507, ptr %v362, align 4
  %v508 = add nsw i64 %v358, 1
  %v509 = icmp slt i64 %v508, %v1
  br i1 %v509, label %loop356, label %done356
done356:
  br label %join176
join176:
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

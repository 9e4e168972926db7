declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32 immarg)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v14 = alloca [128 x i8], align 64
  %v21 = alloca [128 x i8], align 64
  %v278 = alloca [64 x i8], align 64
  %v284 = alloca [64 x i8], align 64
  %v359 = alloca [64 x i8], align 64
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
  %v33 = phi i64 [ 0, %yes30 ], [ %v175, %done111 ]
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
  %v47 = phi i64 [ 0, %join38 ], [ %v107, %loop45 ]
  %v48 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v77, %loop45 ]
  %v49 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v106, %loop45 ]
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
  %v74 = sitofp <16 x i32> %v61 to <16 x float>
  %v75 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v73, <16 x float> %v74, <16 x float> %v73, i16 -1, i32 4)
  %v76 = select <16 x i1> %v53, <16 x float> splat (float 0x0000000000000000), <16 x float> %v75
  %v77 = fadd <16 x float> %v48, %v76
  %v78 = mul i64 %v47, %v17
  %v79 = getelementptr i8, ptr %v43, i64 %v78
  %v80 = getelementptr i8, ptr %v79, i64 64
  %v81 = load <16 x float>, ptr %v80, align 4
  %v82 = fcmp olt <16 x float> %v81, splat (float 0xC05A000000000000)
  %v83 = select <16 x i1> %v82, <16 x float> splat (float 0x0000000000000000), <16 x float> %v81
  %v84 = fcmp ogt <16 x float> %v83, splat (float 0x4056400000000000)
  %v85 = select <16 x i1> %v84, <16 x float> splat (float 0x4056400000000000), <16 x float> %v83
  %v86 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v85, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v87 = fsub <16 x float> %v86, splat (float 0x4168000000000000)
  %v88 = bitcast <16 x float> %v86 to <16 x i32>
  %v89 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v90 = sub <16 x i32> %v88, %v89
  %v91 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v87, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v85)
  %v92 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v87, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v91)
  %v93 = fsub <16 x float> %v91, %v92
  %v94 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v87, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v93)
  %v95 = fmul <16 x float> %v92, %v92
  %v96 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v92, <16 x float> splat (float 0x3F8120BE20000000))
  %v97 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v96, <16 x float> %v92, <16 x float> splat (float 0x3FA5555180000000))
  %v98 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v97, <16 x float> %v92, <16 x float> splat (float 0x3FC5554DC0000000))
  %v99 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v98, <16 x float> %v92, <16 x float> splat (float 0x3FE0000000000000))
  %v100 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v95, <16 x float> %v99, <16 x float> splat (float 0x0000000000000000))
  %v101 = fadd <16 x float> %v92, %v100
  %v102 = fadd <16 x float> %v101, splat (float 0x3FF0000000000000)
  %v103 = sitofp <16 x i32> %v90 to <16 x float>
  %v104 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v102, <16 x float> %v103, <16 x float> %v102, i16 -1, i32 4)
  %v105 = select <16 x i1> %v82, <16 x float> splat (float 0x0000000000000000), <16 x float> %v104
  %v106 = fadd <16 x float> %v49, %v105
  %v107 = add nsw i64 %v47, 32
  %v108 = icmp slt i64 %v107, %v44
  br i1 %v108, label %loop45, label %done45
done45:
  %v109 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v77, %loop45 ]
  %v110 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v106, %loop45 ]
  %v112 = icmp slt i64 %v44, %v3
  br i1 %v112, label %loop111, label %done111
loop111:
  %v113 = phi i64 [ %v44, %done45 ], [ %v159, %loop111 ]
  %v114 = phi <16 x float> [ %v109, %done45 ], [ %v158, %loop111 ]
  %v115 = sub i64 %v3, %v113
  %v116 = icmp slt i64 %v115, 16
  %v117 = select i1 %v116, i64 %v115, i64 16
  %v118 = mul i64 %v113, %v17
  %v119 = getelementptr i8, ptr %v43, i64 %v118
  %v120 = icmp slt i64 %v117, 16
  %v121 = select i1 %v120, i64 %v117, i64 16
  %v122 = trunc i64 %v121 to i32
  %v123 = insertelement <16 x i32> poison, i32 %v122, i64 0
  %v124 = shufflevector <16 x i32> %v123, <16 x i32> poison, <16 x i32> zeroinitializer
  %v125 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v124
  %v126 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v119, <16 x i1> %v125, <16 x float> splat (float 0x0000000000000000))
  %v127 = fcmp olt <16 x float> %v126, splat (float 0xC05A000000000000)
  %v128 = select <16 x i1> %v127, <16 x float> splat (float 0x0000000000000000), <16 x float> %v126
  %v129 = fcmp ogt <16 x float> %v128, splat (float 0x4056400000000000)
  %v130 = select <16 x i1> %v129, <16 x float> splat (float 0x4056400000000000), <16 x float> %v128
  %v131 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v130, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v132 = fsub <16 x float> %v131, splat (float 0x4168000000000000)
  %v133 = bitcast <16 x float> %v131 to <16 x i32>
  %v134 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v135 = sub <16 x i32> %v133, %v134
  %v136 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v132, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v130)
  %v137 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v132, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v136)
  %v138 = fsub <16 x float> %v136, %v137
  %v139 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v132, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v138)
  %v140 = fmul <16 x float> %v137, %v137
  %v141 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v137, <16 x float> splat (float 0x3F8120BE20000000))
  %v142 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v141, <16 x float> %v137, <16 x float> splat (float 0x3FA5555180000000))
  %v143 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v142, <16 x float> %v137, <16 x float> splat (float 0x3FC5554DC0000000))
  %v144 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v143, <16 x float> %v137, <16 x float> splat (float 0x3FE0000000000000))
  %v145 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v140, <16 x float> %v144, <16 x float> splat (float 0x0000000000000000))
  %v146 = fadd <16 x float> %v137, %v145
  %v147 = fadd <16 x float> %v146, splat (float 0x3FF0000000000000)
  %v148 = sitofp <16 x i32> %v135 to <16 x float>
  %v149 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v147, <16 x float> %v148, <16 x float> %v147, i16 -1, i32 4)
  %v150 = select <16 x i1> %v127, <16 x float> splat (float 0x0000000000000000), <16 x float> %v149
  %v151 = fadd <16 x float> %v114, %v150
  %v152 = icmp slt i64 %v117, 16
  %v153 = select i1 %v152, i64 %v117, i64 16
  %v154 = trunc i64 %v153 to i32
  %v155 = insertelement <16 x i32> poison, i32 %v154, i64 0
  %v156 = shufflevector <16 x i32> %v155, <16 x i32> poison, <16 x i32> zeroinitializer
  %v157 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v156
  %v158 = select <16 x i1> %v157, <16 x float> %v151, <16 x float> %v114
  %v159 = add nsw i64 %v113, 16
  %v160 = icmp slt i64 %v159, %v3
  br i1 %v160, label %loop111, label %done111
done111:
  %v161 = phi <16 x float> [ %v109, %done45 ], [ %v158, %loop111 ]
  %v162 = fadd <16 x float> %v161, %v110
  %v163 = shufflevector <16 x float> %v162, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v164 = shufflevector <16 x float> %v162, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v165 = fadd <8 x float> %v163, %v164
  %v166 = shufflevector <8 x float> %v165, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v167 = shufflevector <8 x float> %v165, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v168 = fadd <4 x float> %v166, %v167
  %v169 = shufflevector <4 x float> %v168, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v170 = shufflevector <4 x float> %v168, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v171 = fadd <2 x float> %v169, %v170
  %v172 = extractelement <2 x float> %v171, i64 0
  %v173 = extractelement <2 x float> %v171, i64 1
  %v174 = fadd float %v172, %v173
  store float %v174, ptr %v37, align 4
  %v175 = add nsw i64 %v33, 1
  %v176 = icmp slt i64 %v175, %v1
  br i1 %v176, label %loop31, label %done31
done31:
  br label %join30
no30:
  %v177 = xor i1 %v27, true
  %v178 = and i1 true, %v177
  br i1 %v178, label %yes179, label %no179
yes179:
  %v180 = and i64 %v1, -32
  %v182 = icmp slt i64 0, %v180
  br i1 %v182, label %loop181, label %done181
loop181:
  %v183 = phi i64 [ 0, %yes179 ], [ %v285, %done184 ]
  %v185 = icmp slt i64 0, %v3
  br i1 %v185, label %loop184, label %done184
loop184:
  %v186 = phi i64 [ 0, %loop181 ], [ %v270, %done192 ]
  %v187 = phi <16 x float> [ splat (float 0x0000000000000000), %loop181 ], [ %v268, %done192 ]
  %v188 = phi <16 x float> [ splat (float 0x0000000000000000), %loop181 ], [ %v269, %done192 ]
  %v189 = add i64 %v186, 64
  %v190 = icmp slt i64 %v189, %v3
  %v191 = select i1 %v190, i64 %v189, i64 %v3
  %v193 = icmp slt i64 %v186, %v191
  br i1 %v193, label %loop192, label %done192
loop192:
  %v194 = phi i64 [ %v186, %loop184 ], [ %v264, %join201 ]
  %v195 = phi <16 x float> [ splat (float 0x0000000000000000), %loop184 ], [ %v234, %join201 ]
  %v196 = phi <16 x float> [ splat (float 0x0000000000000000), %loop184 ], [ %v263, %join201 ]
  %v197 = mul i64 %v194, %v8
  %v198 = getelementptr i8, ptr %v13, i64 %v197
  %v199 = mul i64 %v194, %v10
  %v200 = getelementptr i8, ptr %v12, i64 %v199
  br i1 %v22, label %yes201, label %no201
yes201:
  %v202 = load float, ptr %v198, align 4
  %v203 = insertelement <16 x float> poison, float %v202, i64 0
  %v204 = shufflevector <16 x float> %v203, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v204, ptr %v21, align 4
  %v205 = getelementptr i8, ptr %v21, i64 64
  store <16 x float> %v204, ptr %v205, align 4
  br label %join201
no201:
  br label %join201
join201:
  %v206 = select i1 %v23, ptr %v198, ptr %v21
  %v207 = mul i64 %v183, %v24
  %v208 = getelementptr i8, ptr %v206, i64 %v207
  %v209 = load <16 x float>, ptr %v208, align 4
  %v210 = fcmp olt <16 x float> %v209, splat (float 0xC05A000000000000)
  %v211 = select <16 x i1> %v210, <16 x float> splat (float 0x0000000000000000), <16 x float> %v209
  %v212 = fcmp ogt <16 x float> %v211, splat (float 0x4056400000000000)
  %v213 = select <16 x i1> %v212, <16 x float> splat (float 0x4056400000000000), <16 x float> %v211
  %v214 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v213, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v215 = fsub <16 x float> %v214, splat (float 0x4168000000000000)
  %v216 = bitcast <16 x float> %v214 to <16 x i32>
  %v217 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v218 = sub <16 x i32> %v216, %v217
  %v219 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v215, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v213)
  %v220 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v215, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v219)
  %v221 = fsub <16 x float> %v219, %v220
  %v222 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v215, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v221)
  %v223 = fmul <16 x float> %v220, %v220
  %v224 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v220, <16 x float> splat (float 0x3F8120BE20000000))
  %v225 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v224, <16 x float> %v220, <16 x float> splat (float 0x3FA5555180000000))
  %v226 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v225, <16 x float> %v220, <16 x float> splat (float 0x3FC5554DC0000000))
  %v227 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v226, <16 x float> %v220, <16 x float> splat (float 0x3FE0000000000000))
  %v228 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v223, <16 x float> %v227, <16 x float> splat (float 0x0000000000000000))
  %v229 = fadd <16 x float> %v220, %v228
  %v230 = fadd <16 x float> %v229, splat (float 0x3FF0000000000000)
  %v231 = sitofp <16 x i32> %v218 to <16 x float>
  %v232 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v230, <16 x float> %v231, <16 x float> %v230, i16 -1, i32 4)
  %v233 = select <16 x i1> %v210, <16 x float> splat (float 0x0000000000000000), <16 x float> %v232
  %v234 = fadd <16 x float> %v195, %v233
  %v235 = mul i64 %v183, %v24
  %v236 = getelementptr i8, ptr %v206, i64 %v235
  %v237 = getelementptr i8, ptr %v236, i64 64
  %v238 = load <16 x float>, ptr %v237, align 4
  %v239 = fcmp olt <16 x float> %v238, splat (float 0xC05A000000000000)
  %v240 = select <16 x i1> %v239, <16 x float> splat (float 0x0000000000000000), <16 x float> %v238
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
  %v260 = sitofp <16 x i32> %v247 to <16 x float>
  %v261 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v259, <16 x float> %v260, <16 x float> %v259, i16 -1, i32 4)
  %v262 = select <16 x i1> %v239, <16 x float> splat (float 0x0000000000000000), <16 x float> %v261
  %v263 = fadd <16 x float> %v196, %v262
  %v264 = add nsw i64 %v194, 1
  %v265 = icmp slt i64 %v264, %v191
  br i1 %v265, label %loop192, label %done192
done192:
  %v266 = phi <16 x float> [ splat (float 0x0000000000000000), %loop184 ], [ %v234, %join201 ]
  %v267 = phi <16 x float> [ splat (float 0x0000000000000000), %loop184 ], [ %v263, %join201 ]
  %v268 = fadd <16 x float> %v187, %v266
  %v269 = fadd <16 x float> %v188, %v267
  %v270 = add nsw i64 %v186, 64
  %v271 = icmp slt i64 %v270, %v3
  br i1 %v271, label %loop184, label %done184
done184:
  %v272 = phi <16 x float> [ splat (float 0x0000000000000000), %loop181 ], [ %v268, %done192 ]
  %v273 = phi <16 x float> [ splat (float 0x0000000000000000), %loop181 ], [ %v269, %done192 ]
  %v274 = mul i64 %v183, %v5
  %v275 = getelementptr i8, ptr %v13, i64 %v274
  %v276 = mul i64 %v183, %v6
  %v277 = getelementptr i8, ptr %v12, i64 %v276
  store <16 x float> %v272, ptr %v278, align 4
  call void @copy32(ptr %v278, i64 4, ptr %v277, i64 %v6, i64 16)
  %v279 = add i64 %v183, 16
  %v280 = mul i64 %v279, %v5
  %v281 = getelementptr i8, ptr %v13, i64 %v280
  %v282 = mul i64 %v279, %v6
  %v283 = getelementptr i8, ptr %v12, i64 %v282
  store <16 x float> %v273, ptr %v284, align 4
  call void @copy32(ptr %v284, i64 4, ptr %v283, i64 %v6, i64 16)
  %v285 = add nsw i64 %v183, 32
  %v286 = icmp slt i64 %v285, %v180
  br i1 %v286, label %loop181, label %done181
done181:
  %v288 = icmp slt i64 %v180, %v1
  br i1 %v288, label %loop287, label %done287
loop287:
  %v289 = phi i64 [ %v180, %done181 ], [ %v360, %done293 ]
  %v290 = sub i64 %v1, %v289
  %v291 = icmp slt i64 %v290, 16
  %v292 = select i1 %v291, i64 %v290, i64 16
  %v294 = icmp slt i64 0, %v3
  br i1 %v294, label %loop293, label %done293
loop293:
  %v295 = phi i64 [ 0, %loop287 ], [ %v352, %done300 ]
  %v296 = phi <16 x float> [ splat (float 0x0000000000000000), %loop287 ], [ %v351, %done300 ]
  %v297 = add i64 %v295, 64
  %v298 = icmp slt i64 %v297, %v3
  %v299 = select i1 %v298, i64 %v297, i64 %v3
  %v301 = icmp slt i64 %v295, %v299
  br i1 %v301, label %loop300, label %done300
loop300:
  %v302 = phi i64 [ %v295, %loop293 ], [ %v348, %join308 ]
  %v303 = phi <16 x float> [ splat (float 0x0000000000000000), %loop293 ], [ %v347, %join308 ]
  %v304 = mul i64 %v302, %v8
  %v305 = getelementptr i8, ptr %v13, i64 %v304
  %v306 = mul i64 %v302, %v10
  %v307 = getelementptr i8, ptr %v12, i64 %v306
  br i1 %v22, label %yes308, label %no308
yes308:
  %v309 = load float, ptr %v305, align 4
  %v310 = insertelement <16 x float> poison, float %v309, i64 0
  %v311 = shufflevector <16 x float> %v310, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v311, ptr %v21, align 4
  %v312 = getelementptr i8, ptr %v21, i64 64
  store <16 x float> %v311, ptr %v312, align 4
  br label %join308
no308:
  br label %join308
join308:
  %v313 = select i1 %v23, ptr %v305, ptr %v21
  %v314 = mul i64 %v289, %v24
  %v315 = getelementptr i8, ptr %v313, i64 %v314
  %v316 = icmp slt i64 %v292, 16
  %v317 = select i1 %v316, i64 %v292, i64 16
  %v318 = trunc i64 %v317 to i32
  %v319 = insertelement <16 x i32> poison, i32 %v318, i64 0
  %v320 = shufflevector <16 x i32> %v319, <16 x i32> poison, <16 x i32> zeroinitializer
  %v321 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v320
  %v322 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v315, <16 x i1> %v321, <16 x float> splat (float 0x0000000000000000))
  %v323 = fcmp olt <16 x float> %v322, splat (float 0xC05A000000000000)
  %v324 = select <16 x i1> %v323, <16 x float> splat (float 0x0000000000000000), <16 x float> %v322
  %v325 = fcmp ogt <16 x float> %v324, splat (float 0x4056400000000000)
  %v326 = select <16 x i1> %v325, <16 x float> splat (float 0x4056400000000000), <16 x float> %v324
  %v327 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v326, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v328 = fsub <16 x float> %v327, splat (float 0x4168000000000000)
  %v329 = bitcast <16 x float> %v327 to <16 x i32>
  %v330 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v331 = sub <16 x i32> %v329, %v330
  %v332 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v328, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v326)
  %v333 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v328, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v332)
  %v334 = fsub <16 x float> %v332, %v333
  %v335 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v328, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v334)
  %v336 = fmul <16 x float> %v333, %v333
  %v337 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v333, <16 x float> splat (float 0x3F8120BE20000000))
  %v338 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v337, <16 x float> %v333, <16 x float> splat (float 0x3FA5555180000000))
  %v339 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v338, <16 x float> %v333, <16 x float> splat (float 0x3FC5554DC0000000))
  %v340 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v339, <16 x float> %v333, <16 x float> splat (float 0x3FE0000000000000))
  %v341 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v336, <16 x float> %v340, <16 x float> splat (float 0x0000000000000000))
  %v342 = fadd <16 x float> %v333, %v341
  %v343 = fadd <16 x float> %v342, splat (float 0x3FF0000000000000)
  %v344 = sitofp <16 x i32> %v331 to <16 x float>
  %v345 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v343, <16 x float> %v344, <16 x float> %v343, i16 -1, i32 4)
  %v346 = select <16 x i1> %v323, <16 x float> splat (float 0x0000000000000000), <16 x float> %v345
  %v347 = fadd <16 x float> %v303, %v346
  %v348 = add nsw i64 %v302, 1
  %v349 = icmp slt i64 %v348, %v299
  br i1 %v349, label %loop300, label %done300
done300:
  %v350 = phi <16 x float> [ splat (float 0x0000000000000000), %loop293 ], [ %v347, %join308 ]
  %v351 = fadd <16 x float> %v296, %v350
  %v352 = add nsw i64 %v295, 64
  %v353 = icmp slt i64 %v352, %v3
  br i1 %v353, label %loop293, label %done293
done293:
  %v354 = phi <16 x float> [ splat (float 0x0000000000000000), %loop287 ], [ %v351, %done300 ]
  %v355 = mul i64 %v289, %v5
  %v356 = getelementptr i8, ptr %v13, i64 %v355
  %v357 = mul i64 %v289, %v6
  %v358 = getelementptr i8, ptr %v12, i64 %v357
  store <16 x float> %v354, ptr %v359, align 4
  call void @copy32(ptr %v359, i64 4, ptr %v358, i64 %v6, i64 %v292)
  %v360 = add nsw i64 %v289, 16
  %v361 = icmp slt i64 %v360, %v1
  br i1 %v361, label %loop287, label %done287
done287:
  br label %join179
no179:
  %v363 = icmp slt i64 0, %v1
  br i1 %v363, label %loop362, label %done362
loop362:
  %v364 = phi i64 [ 0, %no179 ], [ %v517, %done450 ]
  %v365 = mul i64 %v364, %v5
  %v366 = getelementptr i8, ptr %v13, i64 %v365
  %v367 = mul i64 %v364, %v6
  %v368 = getelementptr i8, ptr %v12, i64 %v367
  br i1 %v15, label %yes369, label %no369
yes369:
  %v370 = load float, ptr %v366, align 4
  %v371 = insertelement <16 x float> poison, float %v370, i64 0
  %v372 = shufflevector <16 x float> %v371, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v372, ptr %v14, align 4
  %v373 = getelementptr i8, ptr %v14, i64 64
  store <16 x float> %v372, ptr %v373, align 4
  br label %join369
no369:
  br label %join369
join369:
  %v374 = select i1 %v16, ptr %v366, ptr %v14
  %v375 = and i64 %v3, -32
  %v377 = icmp slt i64 0, %v375
  br i1 %v377, label %loop376, label %done376
loop376:
  %v378 = phi i64 [ 0, %join369 ], [ %v446, %join412 ]
  %v379 = phi <16 x float> [ splat (float 0x0000000000000000), %join369 ], [ %v411, %join412 ]
  %v380 = phi <16 x float> [ splat (float 0x0000000000000000), %join369 ], [ %v445, %join412 ]
  br i1 %v20, label %yes381, label %no381
yes381:
  %v382 = mul i64 %v378, %v8
  %v383 = getelementptr i8, ptr %v366, i64 %v382
  call void @copy32(ptr %v383, i64 %v8, ptr %v14, i64 4, i64 16)
  br label %join381
no381:
  br label %join381
join381:
  %v384 = mul i64 %v378, %v17
  %v385 = getelementptr i8, ptr %v374, i64 %v384
  %v386 = load <16 x float>, ptr %v385, align 4
  %v387 = fcmp olt <16 x float> %v386, splat (float 0xC05A000000000000)
  %v388 = select <16 x i1> %v387, <16 x float> splat (float 0x0000000000000000), <16 x float> %v386
  %v389 = fcmp ogt <16 x float> %v388, splat (float 0x4056400000000000)
  %v390 = select <16 x i1> %v389, <16 x float> splat (float 0x4056400000000000), <16 x float> %v388
  %v391 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v390, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v392 = fsub <16 x float> %v391, splat (float 0x4168000000000000)
  %v393 = bitcast <16 x float> %v391 to <16 x i32>
  %v394 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v395 = sub <16 x i32> %v393, %v394
  %v396 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v392, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v390)
  %v397 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v392, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v396)
  %v398 = fsub <16 x float> %v396, %v397
  %v399 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v392, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v398)
  %v400 = fmul <16 x float> %v397, %v397
  %v401 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v397, <16 x float> splat (float 0x3F8120BE20000000))
  %v402 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v401, <16 x float> %v397, <16 x float> splat (float 0x3FA5555180000000))
  %v403 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v402, <16 x float> %v397, <16 x float> splat (float 0x3FC5554DC0000000))
  %v404 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v403, <16 x float> %v397, <16 x float> splat (float 0x3FE0000000000000))
  %v405 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v400, <16 x float> %v404, <16 x float> splat (float 0x0000000000000000))
  %v406 = fadd <16 x float> %v397, %v405
  %v407 = fadd <16 x float> %v406, splat (float 0x3FF0000000000000)
  %v408 = sitofp <16 x i32> %v395 to <16 x float>
  %v409 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v407, <16 x float> %v408, <16 x float> %v407, i16 -1, i32 4)
  %v410 = select <16 x i1> %v387, <16 x float> splat (float 0x0000000000000000), <16 x float> %v409
  %v411 = fadd <16 x float> %v379, %v410
  br i1 %v20, label %yes412, label %no412
yes412:
  %v413 = add i64 %v378, 16
  %v414 = mul i64 %v413, %v8
  %v415 = getelementptr i8, ptr %v366, i64 %v414
  %v416 = getelementptr i8, ptr %v14, i64 64
  call void @copy32(ptr %v415, i64 %v8, ptr %v416, i64 4, i64 16)
  br label %join412
no412:
  br label %join412
join412:
  %v417 = mul i64 %v378, %v17
  %v418 = getelementptr i8, ptr %v374, i64 %v417
  %v419 = getelementptr i8, ptr %v418, i64 64
  %v420 = load <16 x float>, ptr %v419, align 4
  %v421 = fcmp olt <16 x float> %v420, splat (float 0xC05A000000000000)
  %v422 = select <16 x i1> %v421, <16 x float> splat (float 0x0000000000000000), <16 x float> %v420
  %v423 = fcmp ogt <16 x float> %v422, splat (float 0x4056400000000000)
  %v424 = select <16 x i1> %v423, <16 x float> splat (float 0x4056400000000000), <16 x float> %v422
  %v425 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v424, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v426 = fsub <16 x float> %v425, splat (float 0x4168000000000000)
  %v427 = bitcast <16 x float> %v425 to <16 x i32>
  %v428 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v429 = sub <16 x i32> %v427, %v428
  %v430 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v426, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v424)
  %v431 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v426, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v430)
  %v432 = fsub <16 x float> %v430, %v431
  %v433 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v426, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v432)
  %v434 = fmul <16 x float> %v431, %v431
  %v435 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v431, <16 x float> splat (float 0x3F8120BE20000000))
  %v436 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v435, <16 x float> %v431, <16 x float> splat (float 0x3FA5555180000000))
  %v437 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v436, <16 x float> %v431, <16 x float> splat (float 0x3FC5554DC0000000))
  %v438 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v437, <16 x float> %v431, <16 x float> splat (float 0x3FE0000000000000))
  %v439 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v434, <16 x float> %v438, <16 x float> splat (float 0x0000000000000000))
  %v440 = fadd <16 x float> %v431, %v439
  %v441 = fadd <16 x float> %v440, splat (float 0x3FF0000000000000)
  %v442 = sitofp <16 x i32> %v429 to <16 x float>
  %v443 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v441, <16 x float> %v442, <16 x float> %v441, i16 -1, i32 4)
  %v444 = select <16 x i1> %v421, <16 x float> splat (float 0x0000000000000000), <16 x float> %v443
  %v445 = fadd <16 x float> %v380, %v444
  %v446 = add nsw i64 %v378, 32
  %v447 = icmp slt i64 %v446, %v375
  br i1 %v447, label %loop376, label %done376
done376:
  %v448 = phi <16 x float> [ splat (float 0x0000000000000000), %join369 ], [ %v411, %join412 ]
  %v449 = phi <16 x float> [ splat (float 0x0000000000000000), %join369 ], [ %v445, %join412 ]
  %v451 = icmp slt i64 %v375, %v3
  br i1 %v451, label %loop450, label %done450
loop450:
  %v452 = phi i64 [ %v375, %done376 ], [ %v501, %join457 ]
  %v453 = phi <16 x float> [ %v448, %done376 ], [ %v500, %join457 ]
  %v454 = sub i64 %v3, %v452
  %v455 = icmp slt i64 %v454, 16
  %v456 = select i1 %v455, i64 %v454, i64 16
  br i1 %v20, label %yes457, label %no457
yes457:
  %v458 = mul i64 %v452, %v8
  %v459 = getelementptr i8, ptr %v366, i64 %v458
  call void @copy32(ptr %v459, i64 %v8, ptr %v14, i64 4, i64 %v456)
  br label %join457
no457:
  br label %join457
join457:
  %v460 = mul i64 %v452, %v17
  %v461 = getelementptr i8, ptr %v374, i64 %v460
  %v462 = icmp slt i64 %v456, 16
  %v463 = select i1 %v462, i64 %v456, i64 16
  %v464 = trunc i64 %v463 to i32
  %v465 = insertelement <16 x i32> poison, i32 %v464, i64 0
  %v466 = shufflevector <16 x i32> %v465, <16 x i32> poison, <16 x i32> zeroinitializer
  %v467 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v466
  %v468 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v461, <16 x i1> %v467, <16 x float> splat (float 0x0000000000000000))
  %v469 = fcmp olt <16 x float> %v468, splat (float 0xC05A000000000000)
  %v470 = select <16 x i1> %v469, <16 x float> splat (float 0x0000000000000000), <16 x float> %v468
  %v471 = fcmp ogt <16 x float> %v470, splat (float 0x4056400000000000)
  %v472 = select <16 x i1> %v471, <16 x float> splat (float 0x4056400000000000), <16 x float> %v470
  %v473 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v472, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v474 = fsub <16 x float> %v473, splat (float 0x4168000000000000)
  %v475 = bitcast <16 x float> %v473 to <16 x i32>
  %v476 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v477 = sub <16 x i32> %v475, %v476
  %v478 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v474, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v472)
  %v479 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v474, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v478)
  %v480 = fsub <16 x float> %v478, %v479
  %v481 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v474, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v480)
  %v482 = fmul <16 x float> %v479, %v479
  %v483 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v479, <16 x float> splat (float 0x3F8120BE20000000))
  %v484 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v483, <16 x float> %v479, <16 x float> splat (float 0x3FA5555180000000))
  %v485 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v484, <16 x float> %v479, <16 x float> splat (float 0x3FC5554DC0000000))
  %v486 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v485, <16 x float> %v479, <16 x float> splat (float 0x3FE0000000000000))
  %v487 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v482, <16 x float> %v486, <16 x float> splat (float 0x0000000000000000))
  %v488 = fadd <16 x float> %v479, %v487
  %v489 = fadd <16 x float> %v488, splat (float 0x3FF0000000000000)
  %v490 = sitofp <16 x i32> %v477 to <16 x float>
  %v491 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v489, <16 x float> %v490, <16 x float> %v489, i16 -1, i32 4)
  %v492 = select <16 x i1> %v469, <16 x float> splat (float 0x0000000000000000), <16 x float> %v491
  %v493 = fadd <16 x float> %v453, %v492
  %v494 = icmp slt i64 %v456, 16
  %v495 = select i1 %v494, i64 %v456, i64 16
  %v496 = trunc i64 %v495 to i32
  %v497 = insertelement <16 x i32> poison, i32 %v496, i64 0
  %v498 = shufflevector <16 x i32> %v497, <16 x i32> poison, <16 x i32> zeroinitializer
  %v499 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v498
  %v500 = select <16 x i1> %v499, <16 x float> %v493, <16 x float> %v453
  %v501 = add nsw i64 %v452, 16
  %v502 = icmp slt i64 %v501, %v3
  br i1 %v502, label %loop450, label %done450
done450:
  %v503 = phi <16 x float> [ %v448, %done376 ], [ %v500, %join457 ]
  %v504 = fadd <16 x float> %v503, %v449
  %v505 = shufflevector <16 x float> %v504, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v506 = shufflevector <16 x float> %v504, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v507 = fadd <8 x float> %v505, %v506
  %v508 = shufflevector <8 x float> %v507, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v509 = shufflevector <8 x float> %v507, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v510 = fadd <4 x float> %v508, %v509
  %v511 = shufflevector <4 x float> %v510, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v512 = shufflevector <4 x float> %v510, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v513 = fadd <2 x float> %v511, %v512
  %v514 = extractelement <2 x float> %v513, i64 0
  %v515 = extractelement <2 x float> %v513, i64 1
  %v516 = fadd float %v514, %v515
  store float %v516, ptr %v368, align 4
  %v517 = add nsw i64 %v364, 1
  %v518 = icmp slt i64 %v517, %v1
  br i1 %v518, label %loop362, label %done362
done362:
  br label %join179
join179:
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

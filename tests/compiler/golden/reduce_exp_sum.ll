declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32 immarg)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v14 = alloca [128 x i8], align 64
  %v21 = alloca [128 x i8], align 64
  %v289 = alloca [64 x i8], align 64
  %v295 = alloca [64 x i8], align 64
  %v376 = alloca [64 x i8], align 64
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
  %v33 = phi i64 [ 0, %yes30 ], [ %v180, %done95 ]
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
  %v46 = icmp slt i64 %v44, %v3
  br i1 %v46, label %loop45, label %done45
loop45:
  %v47 = phi i64 [ %v44, %join38 ], [ %v92, %loop45 ]
  %v48 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v91, %loop45 ]
  %v49 = sub i64 %v3, %v47
  %v50 = icmp slt i64 %v49, 16
  %v51 = select i1 %v50, i64 %v49, i64 16
  %v52 = mul i64 %v47, %v17
  %v53 = getelementptr i8, ptr %v43, i64 %v52
  %v54 = icmp slt i64 %v51, 16
  %v55 = select i1 %v54, i64 %v51, i64 16
  %v56 = trunc i64 %v55 to i32
  %v57 = insertelement <16 x i32> poison, i32 %v56, i64 0
  %v58 = shufflevector <16 x i32> %v57, <16 x i32> poison, <16 x i32> zeroinitializer
  %v59 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v58
  %v60 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v53, <16 x i1> %v59, <16 x float> splat (float 0x0000000000000000))
  %v61 = fcmp olt <16 x float> %v60, splat (float 0xC05A000000000000)
  %v62 = select <16 x i1> %v61, <16 x float> splat (float 0x0000000000000000), <16 x float> %v60
  %v63 = fcmp ogt <16 x float> %v62, splat (float 0x4056400000000000)
  %v64 = select <16 x i1> %v63, <16 x float> splat (float 0x4056400000000000), <16 x float> %v62
  %v65 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v64, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v66 = fsub <16 x float> %v65, splat (float 0x4168000000000000)
  %v67 = bitcast <16 x float> %v65 to <16 x i32>
  %v68 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v69 = sub <16 x i32> %v67, %v68
  %v70 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v66, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v64)
  %v71 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v66, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v70)
  %v72 = fsub <16 x float> %v70, %v71
  %v73 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v66, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v72)
  %v74 = fmul <16 x float> %v71, %v71
  %v75 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v71, <16 x float> splat (float 0x3F8120BE20000000))
  %v76 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v75, <16 x float> %v71, <16 x float> splat (float 0x3FA5555180000000))
  %v77 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v76, <16 x float> %v71, <16 x float> splat (float 0x3FC5554DC0000000))
  %v78 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v77, <16 x float> %v71, <16 x float> splat (float 0x3FE0000000000000))
  %v79 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v74, <16 x float> %v78, <16 x float> splat (float 0x0000000000000000))
  %v80 = fadd <16 x float> %v71, %v79
  %v81 = fadd <16 x float> %v80, splat (float 0x3FF0000000000000)
  %v82 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v81, <16 x float> %v66, <16 x float> %v81, i16 -1, i32 4)
  %v83 = select <16 x i1> %v61, <16 x float> splat (float 0x0000000000000000), <16 x float> %v82
  %v84 = fadd <16 x float> %v48, %v83
  %v85 = icmp slt i64 %v51, 16
  %v86 = select i1 %v85, i64 %v51, i64 16
  %v87 = trunc i64 %v86 to i32
  %v88 = insertelement <16 x i32> poison, i32 %v87, i64 0
  %v89 = shufflevector <16 x i32> %v88, <16 x i32> poison, <16 x i32> zeroinitializer
  %v90 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v89
  %v91 = select <16 x i1> %v90, <16 x float> %v84, <16 x float> %v48
  %v92 = add nsw i64 %v47, 16
  %v93 = icmp slt i64 %v92, %v3
  br i1 %v93, label %loop45, label %done45
done45:
  %v94 = phi <16 x float> [ splat (float 0x0000000000000000), %join38 ], [ %v91, %loop45 ]
  %v96 = icmp slt i64 0, %v44
  br i1 %v96, label %loop95, label %done95
loop95:
  %v97 = phi i64 [ 0, %done45 ], [ %v165, %done102 ]
  %v98 = phi <16 x float> [ %v94, %done45 ], [ %v164, %done102 ]
  %v99 = add i64 %v97, 512
  %v100 = icmp slt i64 %v99, %v44
  %v101 = select i1 %v100, i64 %v99, i64 %v44
  br label %loop102
loop102:
  %v103 = phi i64 [ %v97, %loop95 ], [ %v161, %loop102 ]
  %v104 = phi <16 x float> [ splat (float 0x0000000000000000), %loop95 ], [ %v132, %loop102 ]
  %v105 = phi <16 x float> [ splat (float 0x0000000000000000), %loop95 ], [ %v160, %loop102 ]
  %v106 = mul i64 %v103, %v17
  %v107 = getelementptr i8, ptr %v43, i64 %v106
  %v108 = load <16 x float>, ptr %v107, align 4
  %v109 = fcmp olt <16 x float> %v108, splat (float 0xC05A000000000000)
  %v110 = select <16 x i1> %v109, <16 x float> splat (float 0x0000000000000000), <16 x float> %v108
  %v111 = fcmp ogt <16 x float> %v110, splat (float 0x4056400000000000)
  %v112 = select <16 x i1> %v111, <16 x float> splat (float 0x4056400000000000), <16 x float> %v110
  %v113 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v112, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v114 = fsub <16 x float> %v113, splat (float 0x4168000000000000)
  %v115 = bitcast <16 x float> %v113 to <16 x i32>
  %v116 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v117 = sub <16 x i32> %v115, %v116
  %v118 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v114, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v112)
  %v119 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v114, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v118)
  %v120 = fsub <16 x float> %v118, %v119
  %v121 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v114, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v120)
  %v122 = fmul <16 x float> %v119, %v119
  %v123 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v119, <16 x float> splat (float 0x3F8120BE20000000))
  %v124 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v123, <16 x float> %v119, <16 x float> splat (float 0x3FA5555180000000))
  %v125 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v124, <16 x float> %v119, <16 x float> splat (float 0x3FC5554DC0000000))
  %v126 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v125, <16 x float> %v119, <16 x float> splat (float 0x3FE0000000000000))
  %v127 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v122, <16 x float> %v126, <16 x float> splat (float 0x0000000000000000))
  %v128 = fadd <16 x float> %v119, %v127
  %v129 = fadd <16 x float> %v128, splat (float 0x3FF0000000000000)
  %v130 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v129, <16 x float> %v114, <16 x float> %v129, i16 -1, i32 4)
  %v131 = select <16 x i1> %v109, <16 x float> splat (float 0x0000000000000000), <16 x float> %v130
  %v132 = fadd <16 x float> %v104, %v131
  %v133 = mul i64 %v103, %v17
  %v134 = getelementptr i8, ptr %v43, i64 %v133
  %v135 = getelementptr i8, ptr %v134, i64 64
  %v136 = load <16 x float>, ptr %v135, align 4
  %v137 = fcmp olt <16 x float> %v136, splat (float 0xC05A000000000000)
  %v138 = select <16 x i1> %v137, <16 x float> splat (float 0x0000000000000000), <16 x float> %v136
  %v139 = fcmp ogt <16 x float> %v138, splat (float 0x4056400000000000)
  %v140 = select <16 x i1> %v139, <16 x float> splat (float 0x4056400000000000), <16 x float> %v138
  %v141 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v140, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v142 = fsub <16 x float> %v141, splat (float 0x4168000000000000)
  %v143 = bitcast <16 x float> %v141 to <16 x i32>
  %v144 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v145 = sub <16 x i32> %v143, %v144
  %v146 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v142, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v140)
  %v147 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v142, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v146)
  %v148 = fsub <16 x float> %v146, %v147
  %v149 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v142, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v148)
  %v150 = fmul <16 x float> %v147, %v147
  %v151 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v147, <16 x float> splat (float 0x3F8120BE20000000))
  %v152 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v151, <16 x float> %v147, <16 x float> splat (float 0x3FA5555180000000))
  %v153 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v152, <16 x float> %v147, <16 x float> splat (float 0x3FC5554DC0000000))
  %v154 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v153, <16 x float> %v147, <16 x float> splat (float 0x3FE0000000000000))
  %v155 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v150, <16 x float> %v154, <16 x float> splat (float 0x0000000000000000))
  %v156 = fadd <16 x float> %v147, %v155
  %v157 = fadd <16 x float> %v156, splat (float 0x3FF0000000000000)
  %v158 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v157, <16 x float> %v142, <16 x float> %v157, i16 -1, i32 4)
  %v159 = select <16 x i1> %v137, <16 x float> splat (float 0x0000000000000000), <16 x float> %v158
  %v160 = fadd <16 x float> %v105, %v159
  %v161 = add nsw i64 %v103, 32
  %v162 = icmp slt i64 %v161, %v101
  br i1 %v162, label %loop102, label %done102
done102:
  %v163 = fadd <16 x float> %v132, %v160
  %v164 = fadd <16 x float> %v98, %v163
  %v165 = add nsw i64 %v97, 512
  %v166 = icmp slt i64 %v165, %v44
  br i1 %v166, label %loop95, label %done95
done95:
  %v167 = phi <16 x float> [ %v94, %done45 ], [ %v164, %done102 ]
  %v168 = shufflevector <16 x float> %v167, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v169 = shufflevector <16 x float> %v167, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v170 = fadd <8 x float> %v168, %v169
  %v171 = shufflevector <8 x float> %v170, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v172 = shufflevector <8 x float> %v170, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v173 = fadd <4 x float> %v171, %v172
  %v174 = shufflevector <4 x float> %v173, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v175 = shufflevector <4 x float> %v173, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v176 = fadd <2 x float> %v174, %v175
  %v177 = extractelement <2 x float> %v176, i64 0
  %v178 = extractelement <2 x float> %v176, i64 1
  %v179 = fadd float %v177, %v178
  store float %v179, ptr %v37, align 4
  %v180 = add nsw i64 %v33, 1
  %v181 = icmp slt i64 %v180, %v1
  br i1 %v181, label %loop31, label %done31
done31:
  br label %join30
no30:
  %v182 = xor i1 %v27, true
  %v183 = and i1 true, %v182
  br i1 %v183, label %yes184, label %no184
yes184:
  %v185 = and i64 %v1, -32
  %v187 = icmp slt i64 0, %v185
  br i1 %v187, label %loop186, label %done186
loop186:
  %v188 = phi i64 [ 0, %yes184 ], [ %v296, %done189 ]
  %v190 = icmp slt i64 0, %v3
  br i1 %v190, label %loop189, label %done189
loop189:
  %v191 = phi i64 [ 0, %loop186 ], [ %v281, %done197 ]
  %v192 = phi <16 x float> [ splat (float 0x0000000000000000), %loop186 ], [ %v279, %done197 ]
  %v193 = phi <16 x float> [ splat (float 0x0000000000000000), %loop186 ], [ %v280, %done197 ]
  %v194 = add i64 %v191, 256
  %v195 = icmp slt i64 %v194, %v3
  %v196 = select i1 %v195, i64 %v194, i64 %v3
  br label %loop197
loop197:
  %v198 = phi i64 [ %v191, %loop189 ], [ %v277, %done204 ]
  %v199 = phi <16 x float> [ splat (float 0x0000000000000000), %loop189 ], [ %v275, %done204 ]
  %v200 = phi <16 x float> [ splat (float 0x0000000000000000), %loop189 ], [ %v276, %done204 ]
  %v201 = add i64 %v198, 16
  %v202 = icmp slt i64 %v201, %v196
  %v203 = select i1 %v202, i64 %v201, i64 %v196
  br label %loop204
loop204:
  %v205 = phi i64 [ %v198, %loop197 ], [ %v273, %join212 ]
  %v206 = phi <16 x float> [ splat (float 0x0000000000000000), %loop197 ], [ %v244, %join212 ]
  %v207 = phi <16 x float> [ splat (float 0x0000000000000000), %loop197 ], [ %v272, %join212 ]
  %v208 = mul i64 %v205, %v8
  %v209 = getelementptr i8, ptr %v13, i64 %v208
  %v210 = mul i64 %v205, %v10
  %v211 = getelementptr i8, ptr %v12, i64 %v210
  br i1 %v22, label %yes212, label %no212
yes212:
  %v213 = load float, ptr %v209, align 4
  %v214 = insertelement <16 x float> poison, float %v213, i64 0
  %v215 = shufflevector <16 x float> %v214, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v215, ptr %v21, align 4
  %v216 = getelementptr i8, ptr %v21, i64 64
  store <16 x float> %v215, ptr %v216, align 4
  br label %join212
no212:
  br label %join212
join212:
  %v217 = select i1 %v23, ptr %v209, ptr %v21
  %v218 = mul i64 %v188, %v24
  %v219 = getelementptr i8, ptr %v217, i64 %v218
  %v220 = load <16 x float>, ptr %v219, align 4
  %v221 = fcmp olt <16 x float> %v220, splat (float 0xC05A000000000000)
  %v222 = select <16 x i1> %v221, <16 x float> splat (float 0x0000000000000000), <16 x float> %v220
  %v223 = fcmp ogt <16 x float> %v222, splat (float 0x4056400000000000)
  %v224 = select <16 x i1> %v223, <16 x float> splat (float 0x4056400000000000), <16 x float> %v222
  %v225 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v224, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v226 = fsub <16 x float> %v225, splat (float 0x4168000000000000)
  %v227 = bitcast <16 x float> %v225 to <16 x i32>
  %v228 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v229 = sub <16 x i32> %v227, %v228
  %v230 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v226, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v224)
  %v231 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v226, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v230)
  %v232 = fsub <16 x float> %v230, %v231
  %v233 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v226, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v232)
  %v234 = fmul <16 x float> %v231, %v231
  %v235 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v231, <16 x float> splat (float 0x3F8120BE20000000))
  %v236 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v235, <16 x float> %v231, <16 x float> splat (float 0x3FA5555180000000))
  %v237 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v236, <16 x float> %v231, <16 x float> splat (float 0x3FC5554DC0000000))
  %v238 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v237, <16 x float> %v231, <16 x float> splat (float 0x3FE0000000000000))
  %v239 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v234, <16 x float> %v238, <16 x float> splat (float 0x0000000000000000))
  %v240 = fadd <16 x float> %v231, %v239
  %v241 = fadd <16 x float> %v240, splat (float 0x3FF0000000000000)
  %v242 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v241, <16 x float> %v226, <16 x float> %v241, i16 -1, i32 4)
  %v243 = select <16 x i1> %v221, <16 x float> splat (float 0x0000000000000000), <16 x float> %v242
  %v244 = fadd <16 x float> %v206, %v243
  %v245 = mul i64 %v188, %v24
  %v246 = getelementptr i8, ptr %v217, i64 %v245
  %v247 = getelementptr i8, ptr %v246, i64 64
  %v248 = load <16 x float>, ptr %v247, align 4
  %v249 = fcmp olt <16 x float> %v248, splat (float 0xC05A000000000000)
  %v250 = select <16 x i1> %v249, <16 x float> splat (float 0x0000000000000000), <16 x float> %v248
  %v251 = fcmp ogt <16 x float> %v250, splat (float 0x4056400000000000)
  %v252 = select <16 x i1> %v251, <16 x float> splat (float 0x4056400000000000), <16 x float> %v250
  %v253 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v252, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v254 = fsub <16 x float> %v253, splat (float 0x4168000000000000)
  %v255 = bitcast <16 x float> %v253 to <16 x i32>
  %v256 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v257 = sub <16 x i32> %v255, %v256
  %v258 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v254, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v252)
  %v259 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v254, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v258)
  %v260 = fsub <16 x float> %v258, %v259
  %v261 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v254, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v260)
  %v262 = fmul <16 x float> %v259, %v259
  %v263 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v259, <16 x float> splat (float 0x3F8120BE20000000))
  %v264 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v263, <16 x float> %v259, <16 x float> splat (float 0x3FA5555180000000))
  %v265 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v264, <16 x float> %v259, <16 x float> splat (float 0x3FC5554DC0000000))
  %v266 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v265, <16 x float> %v259, <16 x float> splat (float 0x3FE0000000000000))
  %v267 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v262, <16 x float> %v266, <16 x float> splat (float 0x0000000000000000))
  %v268 = fadd <16 x float> %v259, %v267
  %v269 = fadd <16 x float> %v268, splat (float 0x3FF0000000000000)
  %v270 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v269, <16 x float> %v254, <16 x float> %v269, i16 -1, i32 4)
  %v271 = select <16 x i1> %v249, <16 x float> splat (float 0x0000000000000000), <16 x float> %v270
  %v272 = fadd <16 x float> %v207, %v271
  %v273 = add nsw i64 %v205, 1
  %v274 = icmp slt i64 %v273, %v203
  br i1 %v274, label %loop204, label %done204
done204:
  %v275 = fadd <16 x float> %v199, %v244
  %v276 = fadd <16 x float> %v200, %v272
  %v277 = add nsw i64 %v198, 16
  %v278 = icmp slt i64 %v277, %v196
  br i1 %v278, label %loop197, label %done197
done197:
  %v279 = fadd <16 x float> %v192, %v275
  %v280 = fadd <16 x float> %v193, %v276
  %v281 = add nsw i64 %v191, 256
  %v282 = icmp slt i64 %v281, %v3
  br i1 %v282, label %loop189, label %done189
done189:
  %v283 = phi <16 x float> [ splat (float 0x0000000000000000), %loop186 ], [ %v279, %done197 ]
  %v284 = phi <16 x float> [ splat (float 0x0000000000000000), %loop186 ], [ %v280, %done197 ]
  %v285 = mul i64 %v188, %v5
  %v286 = getelementptr i8, ptr %v13, i64 %v285
  %v287 = mul i64 %v188, %v6
  %v288 = getelementptr i8, ptr %v12, i64 %v287
  store <16 x float> %v283, ptr %v289, align 4
  call void @copy32x1(ptr %v289, i64 4, ptr %v288, i64 %v6, i64 16)
  %v290 = add i64 %v188, 16
  %v291 = mul i64 %v290, %v5
  %v292 = getelementptr i8, ptr %v13, i64 %v291
  %v293 = mul i64 %v290, %v6
  %v294 = getelementptr i8, ptr %v12, i64 %v293
  store <16 x float> %v284, ptr %v295, align 4
  call void @copy32x1(ptr %v295, i64 4, ptr %v294, i64 %v6, i64 16)
  %v296 = add nsw i64 %v188, 32
  %v297 = icmp slt i64 %v296, %v185
  br i1 %v297, label %loop186, label %done186
done186:
  %v299 = icmp slt i64 %v185, %v1
  br i1 %v299, label %loop298, label %done298
loop298:
  %v300 = phi i64 [ %v185, %done186 ], [ %v377, %done304 ]
  %v301 = sub i64 %v1, %v300
  %v302 = icmp slt i64 %v301, 16
  %v303 = select i1 %v302, i64 %v301, i64 16
  %v305 = icmp slt i64 0, %v3
  br i1 %v305, label %loop304, label %done304
loop304:
  %v306 = phi i64 [ 0, %loop298 ], [ %v369, %done311 ]
  %v307 = phi <16 x float> [ splat (float 0x0000000000000000), %loop298 ], [ %v368, %done311 ]
  %v308 = add i64 %v306, 256
  %v309 = icmp slt i64 %v308, %v3
  %v310 = select i1 %v309, i64 %v308, i64 %v3
  br label %loop311
loop311:
  %v312 = phi i64 [ %v306, %loop304 ], [ %v366, %done317 ]
  %v313 = phi <16 x float> [ splat (float 0x0000000000000000), %loop304 ], [ %v365, %done317 ]
  %v314 = add i64 %v312, 16
  %v315 = icmp slt i64 %v314, %v310
  %v316 = select i1 %v315, i64 %v314, i64 %v310
  br label %loop317
loop317:
  %v318 = phi i64 [ %v312, %loop311 ], [ %v363, %join324 ]
  %v319 = phi <16 x float> [ splat (float 0x0000000000000000), %loop311 ], [ %v362, %join324 ]
  %v320 = mul i64 %v318, %v8
  %v321 = getelementptr i8, ptr %v13, i64 %v320
  %v322 = mul i64 %v318, %v10
  %v323 = getelementptr i8, ptr %v12, i64 %v322
  br i1 %v22, label %yes324, label %no324
yes324:
  %v325 = load float, ptr %v321, align 4
  %v326 = insertelement <16 x float> poison, float %v325, i64 0
  %v327 = shufflevector <16 x float> %v326, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v327, ptr %v21, align 4
  %v328 = getelementptr i8, ptr %v21, i64 64
  store <16 x float> %v327, ptr %v328, align 4
  br label %join324
no324:
  br label %join324
join324:
  %v329 = select i1 %v23, ptr %v321, ptr %v21
  %v330 = mul i64 %v300, %v24
  %v331 = getelementptr i8, ptr %v329, i64 %v330
  %v332 = icmp slt i64 %v303, 16
  %v333 = select i1 %v332, i64 %v303, i64 16
  %v334 = trunc i64 %v333 to i32
  %v335 = insertelement <16 x i32> poison, i32 %v334, i64 0
  %v336 = shufflevector <16 x i32> %v335, <16 x i32> poison, <16 x i32> zeroinitializer
  %v337 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v336
  %v338 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v331, <16 x i1> %v337, <16 x float> splat (float 0x0000000000000000))
  %v339 = fcmp olt <16 x float> %v338, splat (float 0xC05A000000000000)
  %v340 = select <16 x i1> %v339, <16 x float> splat (float 0x0000000000000000), <16 x float> %v338
  %v341 = fcmp ogt <16 x float> %v340, splat (float 0x4056400000000000)
  %v342 = select <16 x i1> %v341, <16 x float> splat (float 0x4056400000000000), <16 x float> %v340
  %v343 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v342, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v344 = fsub <16 x float> %v343, splat (float 0x4168000000000000)
  %v345 = bitcast <16 x float> %v343 to <16 x i32>
  %v346 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v347 = sub <16 x i32> %v345, %v346
  %v348 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v344, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v342)
  %v349 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v344, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v348)
  %v350 = fsub <16 x float> %v348, %v349
  %v351 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v344, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v350)
  %v352 = fmul <16 x float> %v349, %v349
  %v353 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v349, <16 x float> splat (float 0x3F8120BE20000000))
  %v354 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v353, <16 x float> %v349, <16 x float> splat (float 0x3FA5555180000000))
  %v355 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v354, <16 x float> %v349, <16 x float> splat (float 0x3FC5554DC0000000))
  %v356 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v355, <16 x float> %v349, <16 x float> splat (float 0x3FE0000000000000))
  %v357 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v352, <16 x float> %v356, <16 x float> splat (float 0x0000000000000000))
  %v358 = fadd <16 x float> %v349, %v357
  %v359 = fadd <16 x float> %v358, splat (float 0x3FF0000000000000)
  %v360 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v359, <16 x float> %v344, <16 x float> %v359, i16 -1, i32 4)
  %v361 = select <16 x i1> %v339, <16 x float> splat (float 0x0000000000000000), <16 x float> %v360
  %v362 = fadd <16 x float> %v319, %v361
  %v363 = add nsw i64 %v318, 1
  %v364 = icmp slt i64 %v363, %v316
  br i1 %v364, label %loop317, label %done317
done317:
  %v365 = fadd <16 x float> %v313, %v362
  %v366 = add nsw i64 %v312, 16
  %v367 = icmp slt i64 %v366, %v310
  br i1 %v367, label %loop311, label %done311
done311:
  %v368 = fadd <16 x float> %v307, %v365
  %v369 = add nsw i64 %v306, 256
  %v370 = icmp slt i64 %v369, %v3
  br i1 %v370, label %loop304, label %done304
done304:
  %v371 = phi <16 x float> [ splat (float 0x0000000000000000), %loop298 ], [ %v368, %done311 ]
  %v372 = mul i64 %v300, %v5
  %v373 = getelementptr i8, ptr %v13, i64 %v372
  %v374 = mul i64 %v300, %v6
  %v375 = getelementptr i8, ptr %v12, i64 %v374
  store <16 x float> %v371, ptr %v376, align 4
  call void @copy32x1(ptr %v376, i64 4, ptr %v375, i64 %v6, i64 %v303)
  %v377 = add nsw i64 %v300, 16
  %v378 = icmp slt i64 %v377, %v1
  br i1 %v378, label %loop298, label %done298
done298:
  br label %join184
no184:
  %v380 = icmp slt i64 0, %v1
  br i1 %v380, label %loop379, label %done379
loop379:
  %v381 = phi i64 [ 0, %no184 ], [ %v539, %done446 ]
  %v382 = mul i64 %v381, %v5
  %v383 = getelementptr i8, ptr %v13, i64 %v382
  %v384 = mul i64 %v381, %v6
  %v385 = getelementptr i8, ptr %v12, i64 %v384
  br i1 %v15, label %yes386, label %no386
yes386:
  %v387 = load float, ptr %v383, align 4
  %v388 = insertelement <16 x float> poison, float %v387, i64 0
  %v389 = shufflevector <16 x float> %v388, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v389, ptr %v14, align 4
  %v390 = getelementptr i8, ptr %v14, i64 64
  store <16 x float> %v389, ptr %v390, align 4
  br label %join386
no386:
  br label %join386
join386:
  %v391 = select i1 %v16, ptr %v383, ptr %v14
  %v392 = and i64 %v3, -32
  %v394 = icmp slt i64 %v392, %v3
  br i1 %v394, label %loop393, label %done393
loop393:
  %v395 = phi i64 [ %v392, %join386 ], [ %v443, %join400 ]
  %v396 = phi <16 x float> [ splat (float 0x0000000000000000), %join386 ], [ %v442, %join400 ]
  %v397 = sub i64 %v3, %v395
  %v398 = icmp slt i64 %v397, 16
  %v399 = select i1 %v398, i64 %v397, i64 16
  br i1 %v20, label %yes400, label %no400
yes400:
  %v401 = mul i64 %v395, %v8
  %v402 = getelementptr i8, ptr %v383, i64 %v401
  call void @copy32x16(ptr %v402, i64 %v8, ptr %v14, i64 4, i64 %v399)
  br label %join400
no400:
  br label %join400
join400:
  %v403 = mul i64 %v395, %v17
  %v404 = getelementptr i8, ptr %v391, i64 %v403
  %v405 = icmp slt i64 %v399, 16
  %v406 = select i1 %v405, i64 %v399, i64 16
  %v407 = trunc i64 %v406 to i32
  %v408 = insertelement <16 x i32> poison, i32 %v407, i64 0
  %v409 = shufflevector <16 x i32> %v408, <16 x i32> poison, <16 x i32> zeroinitializer
  %v410 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v409
  %v411 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v404, <16 x i1> %v410, <16 x float> splat (float 0x0000000000000000))
  %v412 = fcmp olt <16 x float> %v411, splat (float 0xC05A000000000000)
  %v413 = select <16 x i1> %v412, <16 x float> splat (float 0x0000000000000000), <16 x float> %v411
  %v414 = fcmp ogt <16 x float> %v413, splat (float 0x4056400000000000)
  %v415 = select <16 x i1> %v414, <16 x float> splat (float 0x4056400000000000), <16 x float> %v413
  %v416 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v415, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v417 = fsub <16 x float> %v416, splat (float 0x4168000000000000)
  %v418 = bitcast <16 x float> %v416 to <16 x i32>
  %v419 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v420 = sub <16 x i32> %v418, %v419
  %v421 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v417, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v415)
  %v422 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v417, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v421)
  %v423 = fsub <16 x float> %v421, %v422
  %v424 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v417, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v423)
  %v425 = fmul <16 x float> %v422, %v422
  %v426 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v422, <16 x float> splat (float 0x3F8120BE20000000))
  %v427 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v426, <16 x float> %v422, <16 x float> splat (float 0x3FA5555180000000))
  %v428 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v427, <16 x float> %v422, <16 x float> splat (float 0x3FC5554DC0000000))
  %v429 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v428, <16 x float> %v422, <16 x float> splat (float 0x3FE0000000000000))
  %v430 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v425, <16 x float> %v429, <16 x float> splat (float 0x0000000000000000))
  %v431 = fadd <16 x float> %v422, %v430
  %v432 = fadd <16 x float> %v431, splat (float 0x3FF0000000000000)
  %v433 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v432, <16 x float> %v417, <16 x float> %v432, i16 -1, i32 4)
  %v434 = select <16 x i1> %v412, <16 x float> splat (float 0x0000000000000000), <16 x float> %v433
  %v435 = fadd <16 x float> %v396, %v434
  %v436 = icmp slt i64 %v399, 16
  %v437 = select i1 %v436, i64 %v399, i64 16
  %v438 = trunc i64 %v437 to i32
  %v439 = insertelement <16 x i32> poison, i32 %v438, i64 0
  %v440 = shufflevector <16 x i32> %v439, <16 x i32> poison, <16 x i32> zeroinitializer
  %v441 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v440
  %v442 = select <16 x i1> %v441, <16 x float> %v435, <16 x float> %v396
  %v443 = add nsw i64 %v395, 16
  %v444 = icmp slt i64 %v443, %v3
  br i1 %v444, label %loop393, label %done393
done393:
  %v445 = phi <16 x float> [ splat (float 0x0000000000000000), %join386 ], [ %v442, %join400 ]
  %v447 = icmp slt i64 0, %v392
  br i1 %v447, label %loop446, label %done446
loop446:
  %v448 = phi i64 [ 0, %done393 ], [ %v524, %done453 ]
  %v449 = phi <16 x float> [ %v445, %done393 ], [ %v523, %done453 ]
  %v450 = add i64 %v448, 512
  %v451 = icmp slt i64 %v450, %v392
  %v452 = select i1 %v451, i64 %v450, i64 %v392
  br label %loop453
loop453:
  %v454 = phi i64 [ %v448, %loop446 ], [ %v520, %join487 ]
  %v455 = phi <16 x float> [ splat (float 0x0000000000000000), %loop446 ], [ %v486, %join487 ]
  %v456 = phi <16 x float> [ splat (float 0x0000000000000000), %loop446 ], [ %v519, %join487 ]
  br i1 %v20, label %yes457, label %no457
yes457:
  %v458 = mul i64 %v454, %v8
  %v459 = getelementptr i8, ptr %v383, i64 %v458
  call void @copy32x16(ptr %v459, i64 %v8, ptr %v14, i64 4, i64 16)
  br label %join457
no457:
  br label %join457
join457:
  %v460 = mul i64 %v454, %v17
  %v461 = getelementptr i8, ptr %v391, i64 %v460
  %v462 = load <16 x float>, ptr %v461, align 4
  %v463 = fcmp olt <16 x float> %v462, splat (float 0xC05A000000000000)
  %v464 = select <16 x i1> %v463, <16 x float> splat (float 0x0000000000000000), <16 x float> %v462
  %v465 = fcmp ogt <16 x float> %v464, splat (float 0x4056400000000000)
  %v466 = select <16 x i1> %v465, <16 x float> splat (float 0x4056400000000000), <16 x float> %v464
  %v467 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v466, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v468 = fsub <16 x float> %v467, splat (float 0x4168000000000000)
  %v469 = bitcast <16 x float> %v467 to <16 x i32>
  %v470 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v471 = sub <16 x i32> %v469, %v470
  %v472 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v468, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v466)
  %v473 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v468, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v472)
  %v474 = fsub <16 x float> %v472, %v473
  %v475 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v468, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v474)
  %v476 = fmul <16 x float> %v473, %v473
  %v477 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v473, <16 x float> splat (float 0x3F8120BE20000000))
  %v478 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v477, <16 x float> %v473, <16 x float> splat (float 0x3FA5555180000000))
  %v479 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v478, <16 x float> %v473, <16 x float> splat (float 0x3FC5554DC0000000))
  %v480 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v479, <16 x float> %v473, <16 x float> splat (float 0x3FE0000000000000))
  %v481 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v476, <16 x float> %v480, <16 x float> splat (float 0x0000000000000000))
  %v482 = fadd <16 x float> %v473, %v481
  %v483 = fadd <16 x float> %v482, splat (float 0x3FF0000000000000)
  %v484 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v483, <16 x float> %v468, <16 x float> %v483, i16 -1, i32 4)
  %v485 = select <16 x i1> %v463, <16 x float> splat (float 0x0000000000000000), <16 x float> %v484
  %v486 = fadd <16 x float> %v455, %v485
  br i1 %v20, label %yes487, label %no487
yes487:
  %v488 = add i64 %v454, 16
  %v489 = mul i64 %v488, %v8
  %v490 = getelementptr i8, ptr %v383, i64 %v489
  %v491 = getelementptr i8, ptr %v14, i64 64
  call void @copy32x16(ptr %v490, i64 %v8, ptr %v491, i64 4, i64 16)
  br label %join487
no487:
  br label %join487
join487:
  %v492 = mul i64 %v454, %v17
  %v493 = getelementptr i8, ptr %v391, i64 %v492
  %v494 = getelementptr i8, ptr %v493, i64 64
  %v495 = load <16 x float>, ptr %v494, align 4
  %v496 = fcmp olt <16 x float> %v495, splat (float 0xC05A000000000000)
  %v497 = select <16 x i1> %v496, <16 x float> splat (float 0x0000000000000000), <16 x float> %v495
  %v498 = fcmp ogt <16 x float> %v497, splat (float 0x4056400000000000)
  %v499 = select <16 x i1> %v498, <16 x float> splat (float 0x4056400000000000), <16 x float> %v497
  %v500 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v499, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v501 = fsub <16 x float> %v500, splat (float 0x4168000000000000)
  %v502 = bitcast <16 x float> %v500 to <16 x i32>
  %v503 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v504 = sub <16 x i32> %v502, %v503
  %v505 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v501, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v499)
  %v506 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v501, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v505)
  %v507 = fsub <16 x float> %v505, %v506
  %v508 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v501, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v507)
  %v509 = fmul <16 x float> %v506, %v506
  %v510 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v506, <16 x float> splat (float 0x3F8120BE20000000))
  %v511 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v510, <16 x float> %v506, <16 x float> splat (float 0x3FA5555180000000))
  %v512 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v511, <16 x float> %v506, <16 x float> splat (float 0x3FC5554DC0000000))
  %v513 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v512, <16 x float> %v506, <16 x float> splat (float 0x3FE0000000000000))
  %v514 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v509, <16 x float> %v513, <16 x float> splat (float 0x0000000000000000))
  %v515 = fadd <16 x float> %v506, %v514
  %v516 = fadd <16 x float> %v515, splat (float 0x3FF0000000000000)
  %v517 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v516, <16 x float> %v501, <16 x float> %v516, i16 -1, i32 4)
  %v518 = select <16 x i1> %v496, <16 x float> splat (float 0x0000000000000000), <16 x float> %v517
  %v519 = fadd <16 x float> %v456, %v518
  %v520 = add nsw i64 %v454, 32
  %v521 = icmp slt i64 %v520, %v452
  br i1 %v521, label %loop453, label %done453
done453:
  %v522 = fadd <16 x float> %v486, %v519
  %v523 = fadd <16 x float> %v449, %v522
  %v524 = add nsw i64 %v448, 512
  %v525 = icmp slt i64 %v524, %v392
  br i1 %v525, label %loop446, label %done446
done446:
  %v526 = phi <16 x float> [ %v445, %done393 ], [ %v523, %done453 ]
  %v527 = shufflevector <16 x float> %v526, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v528 = shufflevector <16 x float> %v526, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v529 = fadd <8 x float> %v527, %v528
  %v530 = shufflevector <8 x float> %v529, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v531 = shufflevector <8 x float> %v529, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v532 = fadd <4 x float> %v530, %v531
  %v533 = shufflevector <4 x float> %v532, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v534 = shufflevector <4 x float> %v532, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v535 = fadd <2 x float> %v533, %v534
  %v536 = extractelement <2 x float> %v535, i64 0
  %v537 = extractelement <2 x float> %v535, i64 1
  %v538 = fadd float %v536, %v537
  store float %v538, ptr %v385, align 4
  %v539 = add nsw i64 %v381, 1
  %v540 = icmp slt i64 %v539, %v1
  br i1 %v540, label %loop379, label %done379
done379:
  br label %join184
join184:
  br label %join30
join30:
  ret i64 0
}

define internal void @copy32x1(ptr %s, i64 %s_step, ptr %t, i64 %t_step, i64 %count) #0 {
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

define internal void @copy32x16(ptr %s, i64 %s_step, ptr %t, i64 %t_step, i64 %count) #0 {
entry:
  %v1 = mul i64 %s_step, %t_step
  %v2 = icmp eq i64 %v1, -16
  %v3 = icmp eq i64 %s_step, 4
  %v4 = icmp eq i64 %t_step, 4
  %v5 = or i1 %v3, %v4
  %v6 = and i1 %v2, %v5
  %v7 = icmp eq i64 %count, 16
  %v8 = and i1 %v6, %v7
  br i1 %v8, label %yes9, label %no9
yes9:
  %v10 = icmp eq i64 %s_step, 4
  %v11 = getelementptr i8, ptr %s, i64 -60
  %v12 = select i1 %v10, ptr %s, ptr %v11
  %v13 = icmp eq i64 %t_step, 4
  %v14 = getelementptr i8, ptr %t, i64 -60
  %v15 = select i1 %v13, ptr %t, ptr %v14
  %v16 = load <16 x i32>, ptr %v12, align 4
  %v17 = shufflevector <16 x i32> %v16, <16 x i32> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  store <16 x i32> %v17, ptr %v15, align 4
  br label %join9
no9:
  %v19 = icmp slt i64 0, %count
  br i1 %v19, label %loop18, label %done18
loop18:
  %v20 = phi i64 [ 0, %no9 ], [ %v26, %loop18 ]
  %v21 = mul i64 %v20, %s_step
  %v22 = getelementptr i8, ptr %s, i64 %v21
  %v23 = load i32, ptr %v22, align 4
  %v24 = mul i64 %v20, %t_step
  %v25 = getelementptr i8, ptr %t, i64 %v24
  store i32 %v23, ptr %v25, align 4
  %v26 = add nsw i64 %v20, 1
  %v27 = icmp slt i64 %v26, %count
  br i1 %v27, label %loop18, label %done18
done18:
  br label %join9
join9:
  ret void
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

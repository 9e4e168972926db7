declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr>, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32 immarg)
declare void @llvm.masked.scatter.v16f32.v16p0(<16 x float>, <16 x ptr>, <16 x i1>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v132 = alloca [128 x i8], align 64
  %v133 = alloca [128 x i8], align 64
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
  %v14 = icmp eq i64 %v3, 1
  %v15 = icmp eq i64 %v5, 4
  %v16 = and i1 %v14, %v15
  %v17 = icmp eq i64 %v6, 4
  %v18 = and i1 %v16, %v17
  br i1 %v18, label %yes19, label %no19
yes19:
  %v20 = and i64 %v1, -32
  %v22 = icmp slt i64 0, %v20
  br i1 %v22, label %loop21, label %done21
loop21:
  %v23 = phi i64 [ 0, %yes19 ], [ %v82, %loop21 ]
  %v24 = mul i64 %v23, 4
  %v25 = getelementptr i8, ptr %v13, i64 %v24
  %v26 = load <16 x float>, ptr %v25, align 4
  %v27 = fcmp olt <16 x float> %v26, splat (float 0xC05A000000000000)
  %v28 = select <16 x i1> %v27, <16 x float> splat (float 0x0000000000000000), <16 x float> %v26
  %v29 = fcmp ogt <16 x float> %v28, splat (float 0x4056400000000000)
  %v30 = select <16 x i1> %v29, <16 x float> splat (float 0x4056400000000000), <16 x float> %v28
  %v31 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v30, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v32 = fsub <16 x float> %v31, splat (float 0x4168000000000000)
  %v33 = bitcast <16 x float> %v31 to <16 x i32>
  %v34 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v35 = sub <16 x i32> %v33, %v34
  %v36 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v32, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v30)
  %v37 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v32, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v36)
  %v38 = fsub <16 x float> %v36, %v37
  %v39 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v32, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v38)
  %v40 = fmul <16 x float> %v37, %v37
  %v41 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v37, <16 x float> splat (float 0x3F8120BE20000000))
  %v42 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v41, <16 x float> %v37, <16 x float> splat (float 0x3FA5555180000000))
  %v43 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v42, <16 x float> %v37, <16 x float> splat (float 0x3FC5554DC0000000))
  %v44 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v43, <16 x float> %v37, <16 x float> splat (float 0x3FE0000000000000))
  %v45 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v40, <16 x float> %v44, <16 x float> splat (float 0x0000000000000000))
  %v46 = fadd <16 x float> %v37, %v45
  %v47 = fadd <16 x float> %v46, splat (float 0x3FF0000000000000)
  %v48 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v47, <16 x float> %v32, <16 x float> %v47, i16 -1, i32 4)
  %v49 = select <16 x i1> %v27, <16 x float> splat (float 0x0000000000000000), <16 x float> %v48
  %v50 = mul i64 %v23, 4
  %v51 = getelementptr i8, ptr %v13, i64 %v50
  %v52 = getelementptr i8, ptr %v51, i64 64
  %v53 = load <16 x float>, ptr %v52, align 4
  %v54 = fcmp olt <16 x float> %v53, splat (float 0xC05A000000000000)
  %v55 = select <16 x i1> %v54, <16 x float> splat (float 0x0000000000000000), <16 x float> %v53
  %v56 = fcmp ogt <16 x float> %v55, splat (float 0x4056400000000000)
  %v57 = select <16 x i1> %v56, <16 x float> splat (float 0x4056400000000000), <16 x float> %v55
  %v58 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v57, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v59 = fsub <16 x float> %v58, splat (float 0x4168000000000000)
  %v60 = bitcast <16 x float> %v58 to <16 x i32>
  %v61 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v62 = sub <16 x i32> %v60, %v61
  %v63 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v59, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v57)
  %v64 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v59, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v63)
  %v65 = fsub <16 x float> %v63, %v64
  %v66 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v59, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v65)
  %v67 = fmul <16 x float> %v64, %v64
  %v68 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v64, <16 x float> splat (float 0x3F8120BE20000000))
  %v69 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v68, <16 x float> %v64, <16 x float> splat (float 0x3FA5555180000000))
  %v70 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v69, <16 x float> %v64, <16 x float> splat (float 0x3FC5554DC0000000))
  %v71 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v70, <16 x float> %v64, <16 x float> splat (float 0x3FE0000000000000))
  %v72 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v67, <16 x float> %v71, <16 x float> splat (float 0x0000000000000000))
  %v73 = fadd <16 x float> %v64, %v72
  %v74 = fadd <16 x float> %v73, splat (float 0x3FF0000000000000)
  %v75 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v74, <16 x float> %v59, <16 x float> %v74, i16 -1, i32 4)
  %v76 = select <16 x i1> %v54, <16 x float> splat (float 0x0000000000000000), <16 x float> %v75
  %v77 = mul i64 %v23, 4
  %v78 = getelementptr i8, ptr %v12, i64 %v77
  store <16 x float> %v49, ptr %v78, align 4
  %v79 = mul i64 %v23, 4
  %v80 = getelementptr i8, ptr %v12, i64 %v79
  %v81 = getelementptr i8, ptr %v80, i64 64
  store <16 x float> %v76, ptr %v81, align 4
  %v82 = add nsw i64 %v23, 32
  %v83 = icmp slt i64 %v82, %v20
  br i1 %v83, label %loop21, label %done21
done21:
  %v85 = icmp slt i64 %v20, %v1
  br i1 %v85, label %loop84, label %done84
loop84:
  %v86 = phi i64 [ %v20, %done21 ], [ %v130, %loop84 ]
  %v87 = sub i64 %v1, %v86
  %v88 = icmp slt i64 %v87, 16
  %v89 = select i1 %v88, i64 %v87, i64 16
  %v90 = mul i64 %v86, 4
  %v91 = getelementptr i8, ptr %v13, i64 %v90
  %v92 = icmp slt i64 %v89, 16
  %v93 = select i1 %v92, i64 %v89, i64 16
  %v94 = trunc i64 %v93 to i32
  %v95 = insertelement <16 x i32> poison, i32 %v94, i64 0
  %v96 = shufflevector <16 x i32> %v95, <16 x i32> poison, <16 x i32> zeroinitializer
  %v97 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v96
  %v98 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v91, <16 x i1> %v97, <16 x float> splat (float 0x0000000000000000))
  %v99 = fcmp olt <16 x float> %v98, splat (float 0xC05A000000000000)
  %v100 = select <16 x i1> %v99, <16 x float> splat (float 0x0000000000000000), <16 x float> %v98
  %v101 = fcmp ogt <16 x float> %v100, splat (float 0x4056400000000000)
  %v102 = select <16 x i1> %v101, <16 x float> splat (float 0x4056400000000000), <16 x float> %v100
  %v103 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v102, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v104 = fsub <16 x float> %v103, splat (float 0x4168000000000000)
  %v105 = bitcast <16 x float> %v103 to <16 x i32>
  %v106 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v107 = sub <16 x i32> %v105, %v106
  %v108 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v104, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v102)
  %v109 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v104, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v108)
  %v110 = fsub <16 x float> %v108, %v109
  %v111 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v104, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v110)
  %v112 = fmul <16 x float> %v109, %v109
  %v113 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v109, <16 x float> splat (float 0x3F8120BE20000000))
  %v114 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v113, <16 x float> %v109, <16 x float> splat (float 0x3FA5555180000000))
  %v115 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v114, <16 x float> %v109, <16 x float> splat (float 0x3FC5554DC0000000))
  %v116 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v115, <16 x float> %v109, <16 x float> splat (float 0x3FE0000000000000))
  %v117 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v112, <16 x float> %v116, <16 x float> splat (float 0x0000000000000000))
  %v118 = fadd <16 x float> %v109, %v117
  %v119 = fadd <16 x float> %v118, splat (float 0x3FF0000000000000)
  %v120 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v119, <16 x float> %v104, <16 x float> %v119, i16 -1, i32 4)
  %v121 = select <16 x i1> %v99, <16 x float> splat (float 0x0000000000000000), <16 x float> %v120
  %v122 = mul i64 %v86, 4
  %v123 = getelementptr i8, ptr %v12, i64 %v122
  %v124 = icmp slt i64 %v89, 16
  %v125 = select i1 %v124, i64 %v89, i64 16
  %v126 = trunc i64 %v125 to i32
  %v127 = insertelement <16 x i32> poison, i32 %v126, i64 0
  %v128 = shufflevector <16 x i32> %v127, <16 x i32> poison, <16 x i32> zeroinitializer
  %v129 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v128
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v121, ptr align 4 %v123, <16 x i1> %v129)
  %v130 = add nsw i64 %v86, 16
  %v131 = icmp slt i64 %v130, %v1
  br i1 %v131, label %loop84, label %done84
done84:
  br label %join19
no19:
  %v134 = icmp eq i64 %v5, 0
  %v135 = icmp eq i64 %v5, 4
  %v136 = icmp eq i64 %v6, 4
  %v137 = select i1 %v135, i64 4, i64 0
  %v138 = select i1 %v136, i64 4, i64 0
  %v139 = xor i1 %v135, true
  %v140 = xor i1 %v136, true
  %v141 = or i1 %v135, %v134
  %v142 = xor i1 %v141, true
  %v143 = xor i1 %v142, true
  %v144 = and i1 true, %v143
  %v145 = xor i1 %v140, true
  %v146 = and i1 %v144, %v145
  br i1 %v146, label %yes147, label %no147
yes147:
  %v149 = icmp slt i64 0, %v3
  br i1 %v149, label %loop148, label %done148
loop148:
  %v150 = phi i64 [ 0, %yes147 ], [ %v274, %done226 ]
  %v151 = mul i64 %v150, %v8
  %v152 = getelementptr i8, ptr %v13, i64 %v151
  %v153 = mul i64 %v150, %v10
  %v154 = getelementptr i8, ptr %v12, i64 %v153
  br i1 %v134, label %yes155, label %no155
yes155:
  %v156 = load float, ptr %v152, align 4
  %v157 = insertelement <16 x float> poison, float %v156, i64 0
  %v158 = shufflevector <16 x float> %v157, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %v158, ptr %v132, align 4
  %v159 = getelementptr i8, ptr %v132, i64 64
  store <16 x float> %v158, ptr %v159, align 4
  br label %join155
no155:
  br label %join155
join155:
  %v160 = select i1 %v135, ptr %v152, ptr %v132
  %v161 = select i1 %v136, ptr %v154, ptr %v133
  %v162 = and i64 %v1, -32
  %v164 = icmp slt i64 0, %v162
  br i1 %v164, label %loop163, label %done163
loop163:
  %v165 = phi i64 [ 0, %join155 ], [ %v224, %loop163 ]
  %v166 = mul i64 %v165, %v137
  %v167 = getelementptr i8, ptr %v160, i64 %v166
  %v168 = load <16 x float>, ptr %v167, align 4
  %v169 = fcmp olt <16 x float> %v168, splat (float 0xC05A000000000000)
  %v170 = select <16 x i1> %v169, <16 x float> splat (float 0x0000000000000000), <16 x float> %v168
  %v171 = fcmp ogt <16 x float> %v170, splat (float 0x4056400000000000)
  %v172 = select <16 x i1> %v171, <16 x float> splat (float 0x4056400000000000), <16 x float> %v170
  %v173 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v172, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v174 = fsub <16 x float> %v173, splat (float 0x4168000000000000)
  %v175 = bitcast <16 x float> %v173 to <16 x i32>
  %v176 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v177 = sub <16 x i32> %v175, %v176
  %v178 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v174, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v172)
  %v179 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v174, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v178)
  %v180 = fsub <16 x float> %v178, %v179
  %v181 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v174, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v180)
  %v182 = fmul <16 x float> %v179, %v179
  %v183 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v179, <16 x float> splat (float 0x3F8120BE20000000))
  %v184 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v183, <16 x float> %v179, <16 x float> splat (float 0x3FA5555180000000))
  %v185 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v184, <16 x float> %v179, <16 x float> splat (float 0x3FC5554DC0000000))
  %v186 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v185, <16 x float> %v179, <16 x float> splat (float 0x3FE0000000000000))
  %v187 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v182, <16 x float> %v186, <16 x float> splat (float 0x0000000000000000))
  %v188 = fadd <16 x float> %v179, %v187
  %v189 = fadd <16 x float> %v188, splat (float 0x3FF0000000000000)
  %v190 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v189, <16 x float> %v174, <16 x float> %v189, i16 -1, i32 4)
  %v191 = select <16 x i1> %v169, <16 x float> splat (float 0x0000000000000000), <16 x float> %v190
  %v192 = mul i64 %v165, %v137
  %v193 = getelementptr i8, ptr %v160, i64 %v192
  %v194 = getelementptr i8, ptr %v193, i64 64
  %v195 = load <16 x float>, ptr %v194, align 4
  %v196 = fcmp olt <16 x float> %v195, splat (float 0xC05A000000000000)
  %v197 = select <16 x i1> %v196, <16 x float> splat (float 0x0000000000000000), <16 x float> %v195
  %v198 = fcmp ogt <16 x float> %v197, splat (float 0x4056400000000000)
  %v199 = select <16 x i1> %v198, <16 x float> splat (float 0x4056400000000000), <16 x float> %v197
  %v200 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v199, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v201 = fsub <16 x float> %v200, splat (float 0x4168000000000000)
  %v202 = bitcast <16 x float> %v200 to <16 x i32>
  %v203 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v204 = sub <16 x i32> %v202, %v203
  %v205 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v201, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v199)
  %v206 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v201, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v205)
  %v207 = fsub <16 x float> %v205, %v206
  %v208 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v201, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v207)
  %v209 = fmul <16 x float> %v206, %v206
  %v210 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v206, <16 x float> splat (float 0x3F8120BE20000000))
  %v211 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v210, <16 x float> %v206, <16 x float> splat (float 0x3FA5555180000000))
  %v212 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v211, <16 x float> %v206, <16 x float> splat (float 0x3FC5554DC0000000))
  %v213 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v212, <16 x float> %v206, <16 x float> splat (float 0x3FE0000000000000))
  %v214 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v209, <16 x float> %v213, <16 x float> splat (float 0x0000000000000000))
  %v215 = fadd <16 x float> %v206, %v214
  %v216 = fadd <16 x float> %v215, splat (float 0x3FF0000000000000)
  %v217 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v216, <16 x float> %v201, <16 x float> %v216, i16 -1, i32 4)
  %v218 = select <16 x i1> %v196, <16 x float> splat (float 0x0000000000000000), <16 x float> %v217
  %v219 = mul i64 %v165, %v138
  %v220 = getelementptr i8, ptr %v161, i64 %v219
  store <16 x float> %v191, ptr %v220, align 4
  %v221 = mul i64 %v165, %v138
  %v222 = getelementptr i8, ptr %v161, i64 %v221
  %v223 = getelementptr i8, ptr %v222, i64 64
  store <16 x float> %v218, ptr %v223, align 4
  %v224 = add nsw i64 %v165, 32
  %v225 = icmp slt i64 %v224, %v162
  br i1 %v225, label %loop163, label %done163
done163:
  %v227 = icmp slt i64 %v162, %v1
  br i1 %v227, label %loop226, label %done226
loop226:
  %v228 = phi i64 [ %v162, %done163 ], [ %v272, %loop226 ]
  %v229 = sub i64 %v1, %v228
  %v230 = icmp slt i64 %v229, 16
  %v231 = select i1 %v230, i64 %v229, i64 16
  %v232 = mul i64 %v228, %v137
  %v233 = getelementptr i8, ptr %v160, i64 %v232
  %v234 = icmp slt i64 %v231, 16
  %v235 = select i1 %v234, i64 %v231, i64 16
  %v236 = trunc i64 %v235 to i32
  %v237 = insertelement <16 x i32> poison, i32 %v236, i64 0
  %v238 = shufflevector <16 x i32> %v237, <16 x i32> poison, <16 x i32> zeroinitializer
  %v239 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v238
  %v240 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v233, <16 x i1> %v239, <16 x float> splat (float 0x0000000000000000))
  %v241 = fcmp olt <16 x float> %v240, splat (float 0xC05A000000000000)
  %v242 = select <16 x i1> %v241, <16 x float> splat (float 0x0000000000000000), <16 x float> %v240
  %v243 = fcmp ogt <16 x float> %v242, splat (float 0x4056400000000000)
  %v244 = select <16 x i1> %v243, <16 x float> splat (float 0x4056400000000000), <16 x float> %v242
  %v245 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v244, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v246 = fsub <16 x float> %v245, splat (float 0x4168000000000000)
  %v247 = bitcast <16 x float> %v245 to <16 x i32>
  %v248 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v249 = sub <16 x i32> %v247, %v248
  %v250 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v246, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v244)
  %v251 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v246, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v250)
  %v252 = fsub <16 x float> %v250, %v251
  %v253 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v246, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v252)
  %v254 = fmul <16 x float> %v251, %v251
  %v255 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v251, <16 x float> splat (float 0x3F8120BE20000000))
  %v256 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v255, <16 x float> %v251, <16 x float> splat (float 0x3FA5555180000000))
  %v257 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v256, <16 x float> %v251, <16 x float> splat (float 0x3FC5554DC0000000))
  %v258 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v257, <16 x float> %v251, <16 x float> splat (float 0x3FE0000000000000))
  %v259 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v254, <16 x float> %v258, <16 x float> splat (float 0x0000000000000000))
  %v260 = fadd <16 x float> %v251, %v259
  %v261 = fadd <16 x float> %v260, splat (float 0x3FF0000000000000)
  %v262 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v261, <16 x float> %v246, <16 x float> %v261, i16 -1, i32 4)
  %v263 = select <16 x i1> %v241, <16 x float> splat (float 0x0000000000000000), <16 x float> %v262
  %v264 = mul i64 %v228, %v138
  %v265 = getelementptr i8, ptr %v161, i64 %v264
  %v266 = icmp slt i64 %v231, 16
  %v267 = select i1 %v266, i64 %v231, i64 16
  %v268 = trunc i64 %v267 to i32
  %v269 = insertelement <16 x i32> poison, i32 %v268, i64 0
  %v270 = shufflevector <16 x i32> %v269, <16 x i32> poison, <16 x i32> zeroinitializer
  %v271 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v270
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v263, ptr align 4 %v265, <16 x i1> %v271)
  %v272 = add nsw i64 %v228, 16
  %v273 = icmp slt i64 %v272, %v1
  br i1 %v273, label %loop226, label %done226
done226:
  %v274 = add nsw i64 %v150, 1
  %v275 = icmp slt i64 %v274, %v3
  br i1 %v275, label %loop148, label %done148
done148:
  br label %join147
no147:
  %v276 = getelementptr i8, ptr %strides, i64 16
  %v277 = load i64, ptr %v276, align 8
  %v278 = load i64, ptr %strides, align 8
  %v279 = getelementptr i8, ptr %data, i64 8
  %v280 = load ptr, ptr %data, align 8
  %v281 = load ptr, ptr %v279, align 8
  %v282 = load i64, ptr %sizes, align 8
  %v283 = getelementptr i8, ptr %strides, i64 16
  %v284 = load i64, ptr %v283, align 8
  %v285 = load i64, ptr %strides, align 8
  %v286 = getelementptr i8, ptr %strides, i64 24
  %v287 = load i64, ptr %v286, align 8
  %v288 = getelementptr i8, ptr %strides, i64 8
  %v289 = load i64, ptr %v288, align 8
  %v290 = getelementptr i8, ptr %sizes, i64 8
  %v291 = load i64, ptr %v290, align 8
  %v293 = icmp slt i64 0, %v291
  br i1 %v293, label %loop292, label %done292
loop292:
  %v294 = phi i64 [ 0, %no147 ], [ %v395, %done299 ]
  %v295 = mul i64 %v294, %v287
  %v296 = getelementptr i8, ptr %v281, i64 %v295
  %v297 = mul i64 %v294, %v289
  %v298 = getelementptr i8, ptr %v280, i64 %v297
  %v300 = icmp slt i64 0, %v282
  br i1 %v300, label %loop299, label %done299
loop299:
  %v301 = phi i64 [ 0, %loop292 ], [ %v393, %join381 ]
  %v302 = mul i64 %v301, %v284
  %v303 = getelementptr i8, ptr %v296, i64 %v302
  %v304 = mul i64 %v301, %v285
  %v305 = getelementptr i8, ptr %v298, i64 %v304
  %v306 = sub i64 %v282, %v301
  %v307 = icmp slt i64 %v306, 16
  %v308 = select i1 %v307, i64 %v306, i64 16
  %v309 = icmp slt i64 %v308, 16
  %v310 = select i1 %v309, i64 %v308, i64 16
  %v311 = trunc i64 %v310 to i32
  %v312 = insertelement <16 x i32> poison, i32 %v311, i64 0
  %v313 = shufflevector <16 x i32> %v312, <16 x i32> poison, <16 x i32> zeroinitializer
  %v314 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v313
  %v315 = icmp eq i64 %v277, 4
  br i1 %v315, label %yes316, label %no316
yes316:
  %v317 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v303, <16 x i1> %v314, <16 x float> splat (float 0x0000000000000000))
  br label %join316
no316:
  %v318 = icmp eq i64 %v277, 0
  br i1 %v318, label %yes319, label %no319
yes319:
  %v320 = bitcast <16 x i1> %v314 to i16
  %v321 = icmp ne i16 %v320, 0
  %v322 = select i1 %v321, i64 1, i64 0
  %v323 = icmp slt i64 %v322, 16
  %v324 = select i1 %v323, i64 %v322, i64 16
  %v325 = trunc i64 %v324 to i32
  %v326 = insertelement <16 x i32> poison, i32 %v325, i64 0
  %v327 = shufflevector <16 x i32> %v326, <16 x i32> poison, <16 x i32> zeroinitializer
  %v328 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v327
  %v329 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v303, <16 x i1> %v328, <16 x float> splat (float 0x0000000000000000))
  %v330 = extractelement <16 x float> %v329, i64 0
  %v331 = insertelement <16 x float> poison, float %v330, i64 0
  %v332 = shufflevector <16 x float> %v331, <16 x float> poison, <16 x i32> zeroinitializer
  %v333 = select <16 x i1> %v314, <16 x float> %v332, <16 x float> splat (float 0x0000000000000000)
  br label %join319
no319:
  %v334 = icmp eq i64 %v277, 8
  br i1 %v334, label %yes335, label %no335
yes335:
  %v336 = shufflevector <16 x i1> %v314, <16 x i1> splat (i1 false), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  %v337 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v303, <16 x i1> %v336, <16 x float> splat (float 0x0000000000000000))
  %v338 = getelementptr i8, ptr %v303, i64 64
  %v339 = shufflevector <16 x i1> %v314, <16 x i1> splat (i1 false), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  %v340 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v338, <16 x i1> %v339, <16 x float> splat (float 0x0000000000000000))
  %v341 = shufflevector <16 x float> %v337, <16 x float> %v340, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30>
  br label %join335
no335:
  %v342 = icmp eq i64 %v277, -4
  br i1 %v342, label %yes343, label %no343
yes343:
  %v344 = getelementptr i8, ptr %v303, i64 -60
  %v345 = shufflevector <16 x i1> %v314, <16 x i1> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %v346 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v344, <16 x i1> %v345, <16 x float> splat (float 0x0000000000000000))
  %v347 = shufflevector <16 x float> %v346, <16 x float> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  br label %join343
no343:
  %v348 = insertelement <16 x i64> poison, i64 %v277, i64 0
  %v349 = shufflevector <16 x i64> %v348, <16 x i64> poison, <16 x i32> zeroinitializer
  %v350 = mul <16 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>, %v349
  %v351 = getelementptr i8, ptr %v303, <16 x i64> %v350
  %v352 = call <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr> align 4 %v351, <16 x i1> %v314, <16 x float> splat (float 0x0000000000000000))
  br label %join343
join343:
  %v353 = phi <16 x float> [ %v347, %yes343 ], [ %v352, %no343 ]
  br label %join335
join335:
  %v354 = phi <16 x float> [ %v341, %yes335 ], [ %v353, %join343 ]
  br label %join319
join319:
  %v355 = phi <16 x float> [ %v333, %yes319 ], [ %v354, %join335 ]
  br label %join316
join316:
  %v356 = phi <16 x float> [ %v317, %yes316 ], [ %v355, %join319 ]
  %v357 = fcmp olt <16 x float> %v356, splat (float 0xC05A000000000000)
  %v358 = select <16 x i1> %v357, <16 x float> splat (float 0x0000000000000000), <16 x float> %v356
  %v359 = fcmp ogt <16 x float> %v358, splat (float 0x4056400000000000)
  %v360 = select <16 x i1> %v359, <16 x float> splat (float 0x4056400000000000), <16 x float> %v358
  %v361 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v360, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v362 = fsub <16 x float> %v361, splat (float 0x4168000000000000)
  %v363 = bitcast <16 x float> %v361 to <16 x i32>
  %v364 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v365 = sub <16 x i32> %v363, %v364
  %v366 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v362, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v360)
  %v367 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v362, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v366)
  %v368 = fsub <16 x float> %v366, %v367
  %v369 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v362, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v368)
  %v370 = fmul <16 x float> %v367, %v367
  %v371 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v367, <16 x float> splat (float 0x3F8120BE20000000))
  %v372 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v371, <16 x float> %v367, <16 x float> splat (float 0x3FA5555180000000))
  %v373 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v372, <16 x float> %v367, <16 x float> splat (float 0x3FC5554DC0000000))
  %v374 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v373, <16 x float> %v367, <16 x float> splat (float 0x3FE0000000000000))
  %v375 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v370, <16 x float> %v374, <16 x float> splat (float 0x0000000000000000))
  %v376 = fadd <16 x float> %v367, %v375
  %v377 = fadd <16 x float> %v376, splat (float 0x3FF0000000000000)
  %v378 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v377, <16 x float> %v362, <16 x float> %v377, i16 -1, i32 4)
  %v379 = select <16 x i1> %v357, <16 x float> splat (float 0x0000000000000000), <16 x float> %v378
  %v380 = icmp eq i64 %v278, 4
  br i1 %v380, label %yes381, label %no381
yes381:
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v379, ptr align 4 %v305, <16 x i1> %v314)
  br label %join381
no381:
  %v382 = icmp eq i64 %v278, 8
  br i1 %v382, label %yes383, label %no383
yes383:
  %v384 = shufflevector <16 x float> %v379, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  %v385 = shufflevector <16 x i1> %v314, <16 x i1> splat (i1 false), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v384, ptr align 4 %v305, <16 x i1> %v385)
  %v386 = getelementptr i8, ptr %v305, i64 64
  %v387 = shufflevector <16 x float> %v379, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  %v388 = shufflevector <16 x i1> %v314, <16 x i1> splat (i1 false), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v387, ptr align 4 %v386, <16 x i1> %v388)
  br label %join383
no383:
  %v389 = insertelement <16 x i64> poison, i64 %v278, i64 0
  %v390 = shufflevector <16 x i64> %v389, <16 x i64> poison, <16 x i32> zeroinitializer
  %v391 = mul <16 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>, %v390
  %v392 = getelementptr i8, ptr %v305, <16 x i64> %v391
  call void @llvm.masked.scatter.v16f32.v16p0(<16 x float> %v379, <16 x ptr> align 4 %v392, <16 x i1> %v314)
  br label %join383
join383:
  br label %join381
join381:
  %v393 = add nsw i64 %v301, 16
  %v394 = icmp slt i64 %v393, %v282
  br i1 %v394, label %loop299, label %done299
done299:
  %v395 = add nsw i64 %v294, 1
  %v396 = icmp slt i64 %v395, %v291
  br i1 %v396, label %loop292, label %done292
done292:
  br label %join147
join147:
  br label %join19
join19:
  ret i64 0
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32 immarg)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v14 = alloca [128 x i8], align 64
  %v15 = alloca [128 x i8], align 64
  %v176 = alloca [4096 x i8], align 64
  %v177 = alloca [4096 x i8], align 64
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
  %v32 = phi i64 [ 0, %yes29 ], [ %v159, %done110 ]
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
  %v47 = phi i64 [ 0, %join37 ], [ %v108, %loop45 ]
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
  %v72 = sitofp <16 x i32> %v59 to <16 x float>
  %v73 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v71, <16 x float> %v72, <16 x float> %v71, i16 -1, i32 4)
  %v74 = select <16 x i1> %v51, <16 x float> splat (float 0x0000000000000000), <16 x float> %v73
  %v75 = mul i64 %v47, %v19
  %v76 = getelementptr i8, ptr %v42, i64 %v75
  %v77 = getelementptr i8, ptr %v76, i64 64
  %v78 = load <16 x float>, ptr %v77, align 4
  %v79 = fcmp olt <16 x float> %v78, splat (float 0xC05A000000000000)
  %v80 = select <16 x i1> %v79, <16 x float> splat (float 0x0000000000000000), <16 x float> %v78
  %v81 = fcmp ogt <16 x float> %v80, splat (float 0x4056400000000000)
  %v82 = select <16 x i1> %v81, <16 x float> splat (float 0x4056400000000000), <16 x float> %v80
  %v83 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v82, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v84 = fsub <16 x float> %v83, splat (float 0x4168000000000000)
  %v85 = bitcast <16 x float> %v83 to <16 x i32>
  %v86 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v87 = sub <16 x i32> %v85, %v86
  %v88 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v84, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v82)
  %v89 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v84, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v88)
  %v90 = fsub <16 x float> %v88, %v89
  %v91 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v84, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v90)
  %v92 = fmul <16 x float> %v89, %v89
  %v93 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v89, <16 x float> splat (float 0x3F8120BE20000000))
  %v94 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v93, <16 x float> %v89, <16 x float> splat (float 0x3FA5555180000000))
  %v95 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v94, <16 x float> %v89, <16 x float> splat (float 0x3FC5554DC0000000))
  %v96 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v95, <16 x float> %v89, <16 x float> splat (float 0x3FE0000000000000))
  %v97 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v92, <16 x float> %v96, <16 x float> splat (float 0x0000000000000000))
  %v98 = fadd <16 x float> %v89, %v97
  %v99 = fadd <16 x float> %v98, splat (float 0x3FF0000000000000)
  %v100 = sitofp <16 x i32> %v87 to <16 x float>
  %v101 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v99, <16 x float> %v100, <16 x float> %v99, i16 -1, i32 4)
  %v102 = select <16 x i1> %v79, <16 x float> splat (float 0x0000000000000000), <16 x float> %v101
  %v103 = mul i64 %v47, %v20
  %v104 = getelementptr i8, ptr %v43, i64 %v103
  store <16 x float> %v74, ptr %v104, align 4
  %v105 = mul i64 %v47, %v20
  %v106 = getelementptr i8, ptr %v43, i64 %v105
  %v107 = getelementptr i8, ptr %v106, i64 64
  store <16 x float> %v102, ptr %v107, align 4
  %v108 = add nsw i64 %v47, 32
  %v109 = icmp slt i64 %v108, %v44
  br i1 %v109, label %loop45, label %done45
done45:
  %v111 = icmp slt i64 %v44, %v1
  br i1 %v111, label %loop110, label %done110
loop110:
  %v112 = phi i64 [ %v44, %done45 ], [ %v157, %loop110 ]
  %v113 = sub i64 %v1, %v112
  %v114 = icmp slt i64 %v113, 16
  %v115 = select i1 %v114, i64 %v113, i64 16
  %v116 = mul i64 %v112, %v19
  %v117 = getelementptr i8, ptr %v42, i64 %v116
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
  %v146 = sitofp <16 x i32> %v133 to <16 x float>
  %v147 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v145, <16 x float> %v146, <16 x float> %v145, i16 -1, i32 4)
  %v148 = select <16 x i1> %v125, <16 x float> splat (float 0x0000000000000000), <16 x float> %v147
  %v149 = mul i64 %v112, %v20
  %v150 = getelementptr i8, ptr %v43, i64 %v149
  %v151 = icmp slt i64 %v115, 16
  %v152 = select i1 %v151, i64 %v115, i64 16
  %v153 = trunc i64 %v152 to i32
  %v154 = insertelement <16 x i32> poison, i32 %v153, i64 0
  %v155 = shufflevector <16 x i32> %v154, <16 x i32> poison, <16 x i32> zeroinitializer
  %v156 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v155
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v148, ptr align 4 %v150, <16 x i1> %v156)
  %v157 = add nsw i64 %v112, 16
  %v158 = icmp slt i64 %v157, %v1
  br i1 %v158, label %loop110, label %done110
done110:
  %v159 = add nsw i64 %v32, 1
  %v160 = icmp slt i64 %v159, %v3
  br i1 %v160, label %loop30, label %done30
done30:
  br label %join29
no29:
  %v161 = load i64, ptr %sizes, align 8
  %v162 = getelementptr i8, ptr %sizes, i64 8
  %v163 = load i64, ptr %v162, align 8
  %v164 = getelementptr i8, ptr %strides, i64 16
  %v165 = load i64, ptr %v164, align 8
  %v166 = load i64, ptr %strides, align 8
  %v167 = getelementptr i8, ptr %strides, i64 24
  %v168 = load i64, ptr %v167, align 8
  %v169 = getelementptr i8, ptr %strides, i64 8
  %v170 = load i64, ptr %v169, align 8
  %v171 = getelementptr i8, ptr %data, i64 8
  %v172 = load ptr, ptr %data, align 8
  %v173 = load ptr, ptr %v171, align 8
  %v174 = icmp eq i64 %v165, 4
  %v175 = icmp eq i64 %v166, 4
  %v179 = icmp slt i64 0, %v163
  br i1 %v179, label %loop178, label %done178
loop178:
  %v180 = phi i64 [ 0, %no29 ], [ %v254, %done184 ]
  %v181 = sub i64 %v163, %v180
  %v182 = icmp slt i64 %v181, 64
  %v183 = select i1 %v182, i64 %v181, i64 64
  %v185 = icmp slt i64 0, %v161
  br i1 %v185, label %loop184, label %done184
loop184:
  %v186 = phi i64 [ 0, %loop178 ], [ %v252, %join251 ]
  %v187 = sub i64 %v161, %v186
  %v188 = icmp slt i64 %v187, 16
  %v189 = select i1 %v188, i64 %v187, i64 16
  %v190 = mul i64 %v180, %v168
  %v191 = getelementptr i8, ptr %v173, i64 %v190
  %v192 = mul i64 %v186, %v165
  %v193 = getelementptr i8, ptr %v191, i64 %v192
  %v194 = mul i64 %v180, %v170
  %v195 = getelementptr i8, ptr %v172, i64 %v194
  %v196 = mul i64 %v186, %v166
  %v197 = getelementptr i8, ptr %v195, i64 %v196
  %v198 = xor i1 %v174, true
  br i1 %v198, label %yes199, label %no199
yes199:
  call void @copy_block32(ptr %v193, ptr %v176, i64 %v165, i64 %v168, i64 4, i64 64, i64 %v189, i64 %v183)
  br label %join199
no199:
  br label %join199
join199:
  %v200 = select i1 %v174, ptr %v193, ptr %v176
  %v201 = select i1 %v174, i64 %v168, i64 64
  %v202 = select i1 %v175, ptr %v197, ptr %v177
  %v203 = select i1 %v175, i64 %v170, i64 64
  %v205 = icmp slt i64 0, %v183
  br i1 %v205, label %loop204, label %done204
loop204:
  %v206 = phi i64 [ 0, %join199 ], [ %v248, %loop204 ]
  %v207 = mul i64 %v206, %v201
  %v208 = getelementptr i8, ptr %v200, i64 %v207
  %v209 = mul i64 %v206, %v203
  %v210 = getelementptr i8, ptr %v202, i64 %v209
  %v211 = icmp slt i64 %v189, 16
  %v212 = select i1 %v211, i64 %v189, i64 16
  %v213 = trunc i64 %v212 to i32
  %v214 = insertelement <16 x i32> poison, i32 %v213, i64 0
  %v215 = shufflevector <16 x i32> %v214, <16 x i32> poison, <16 x i32> zeroinitializer
  %v216 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v215
  %v217 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v208, <16 x i1> %v216, <16 x float> splat (float 0x0000000000000000))
  %v218 = fcmp olt <16 x float> %v217, splat (float 0xC05A000000000000)
  %v219 = select <16 x i1> %v218, <16 x float> splat (float 0x0000000000000000), <16 x float> %v217
  %v220 = fcmp ogt <16 x float> %v219, splat (float 0x4056400000000000)
  %v221 = select <16 x i1> %v220, <16 x float> splat (float 0x4056400000000000), <16 x float> %v219
  %v222 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v221, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v223 = fsub <16 x float> %v222, splat (float 0x4168000000000000)
  %v224 = bitcast <16 x float> %v222 to <16 x i32>
  %v225 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v226 = sub <16 x i32> %v224, %v225
  %v227 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v223, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v221)
  %v228 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v223, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v227)
  %v229 = fsub <16 x float> %v227, %v228
  %v230 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v223, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v229)
  %v231 = fmul <16 x float> %v228, %v228
  %v232 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v228, <16 x float> splat (float 0x3F8120BE20000000))
  %v233 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v232, <16 x float> %v228, <16 x float> splat (float 0x3FA5555180000000))
  %v234 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v233, <16 x float> %v228, <16 x float> splat (float 0x3FC5554DC0000000))
  %v235 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v234, <16 x float> %v228, <16 x float> splat (float 0x3FE0000000000000))
  %v236 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v231, <16 x float> %v235, <16 x float> splat (float 0x0000000000000000))
  %v237 = fadd <16 x float> %v228, %v236
  %v238 = fadd <16 x float> %v237, splat (float 0x3FF0000000000000)
  %v239 = sitofp <16 x i32> %v226 to <16 x float>
  %v240 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v238, <16 x float> %v239, <16 x float> %v238, i16 -1, i32 4)
  %v241 = select <16 x i1> %v218, <16 x float> splat (float 0x0000000000000000), <16 x float> %v240
  %v242 = icmp slt i64 %v189, 16
  %v243 = select i1 %v242, i64 %v189, i64 16
  %v244 = trunc i64 %v243 to i32
  %v245 = insertelement <16 x i32> poison, i32 %v244, i64 0
  %v246 = shufflevector <16 x i32> %v245, <16 x i32> poison, <16 x i32> zeroinitializer
  %v247 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v246
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v241, ptr align 4 %v210, <16 x i1> %v247)
  %v248 = add nsw i64 %v206, 1
  %v249 = icmp slt i64 %v248, %v183
  br i1 %v249, label %loop204, label %done204
done204:
  %v250 = xor i1 %v175, true
  br i1 %v250, label %yes251, label %no251
yes251:
  call void @copy_block32(ptr %v177, ptr %v197, i64 4, i64 64, i64 %v166, i64 %v170, i64 %v189, i64 %v183)
  br label %join251
no251:
  br label %join251
join251:
  %v252 = add nsw i64 %v186, 16
  %v253 = icmp slt i64 %v252, %v161
  br i1 %v253, label %loop184, label %done184
done184:
  %v254 = add nsw i64 %v180, 64
  %v255 = icmp slt i64 %v254, %v163
  br i1 %v255, label %loop178, label %done178
done178:
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

declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v14 = alloca [128 x i8], align 64
  %v15 = alloca [128 x i8], align 64
  %v196 = alloca [4096 x i8], align 64
  %v197 = alloca [4096 x i8], align 64
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
  %v21 = or i1 %v17, %v16
  %v22 = xor i1 %v21, true
  %v23 = xor i1 %v18, true
  %v24 = xor i1 %v22, true
  %v25 = and i1 true, %v24
  %v26 = xor i1 %v23, true
  %v27 = and i1 %v25, %v26
  br i1 %v27, label %yes28, label %no28
yes28:
  %v30 = icmp slt i64 0, %v3
  br i1 %v30, label %loop29, label %done29
loop29:
  %v31 = phi i64 [ 0, %yes28 ], [ %v179, %done123 ]
  %v32 = mul i64 %v31, %v8
  %v33 = getelementptr i8, ptr %v13, i64 %v32
  %v34 = mul i64 %v31, %v10
  %v35 = getelementptr i8, ptr %v12, i64 %v34
  br i1 %v16, label %yes36, label %no36
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
  %v41 = select i1 %v17, ptr %v33, ptr %v14
  %v42 = select i1 %v18, ptr %v35, ptr %v15
  %v43 = and i64 %v1, -32
  %v45 = icmp slt i64 0, %v43
  br i1 %v45, label %loop44, label %done44
loop44:
  %v46 = phi i64 [ 0, %join36 ], [ %v121, %loop44 ]
  %v47 = mul i64 %v46, %v19
  %v48 = getelementptr i8, ptr %v41, i64 %v47
  %v49 = load <16 x float>, ptr %v48, align 4
  %v50 = fcmp olt <16 x float> %v49, splat (float 0xC05A000000000000)
  %v51 = select <16 x i1> %v50, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v49
  %v52 = fcmp ogt <16 x float> %v51, splat (float 0x4056400000000000)
  %v53 = select <16 x i1> %v52, <16 x float> splat (float 0x4056400000000000), <16 x float> %v51
  %v54 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v53, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v55 = fsub <16 x float> %v54, splat (float 0x4168000000000000)
  %v56 = bitcast <16 x float> %v54 to <16 x i32>
  %v57 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v58 = sub <16 x i32> %v56, %v57
  %v59 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v55, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v53)
  %v60 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v55, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v59)
  %v61 = fsub <16 x float> %v59, %v60
  %v62 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v55, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v61)
  %v63 = fmul <16 x float> %v60, %v60
  %v64 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v60, <16 x float> splat (float 0x3F8120BE20000000))
  %v65 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v64, <16 x float> %v60, <16 x float> splat (float 0x3FA5555180000000))
  %v66 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v65, <16 x float> %v60, <16 x float> splat (float 0x3FC5554DC0000000))
  %v67 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v66, <16 x float> %v60, <16 x float> splat (float 0x3FE0000000000000))
  %v68 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v63, <16 x float> %v67, <16 x float> splat (float 0x0000000000000000))
  %v69 = fadd <16 x float> %v60, %v68
  %v70 = fadd <16 x float> %v69, splat (float 0x3FF0000000000000)
  %v71 = ashr <16 x i32> %v58, splat (i32 1)
  %v72 = add <16 x i32> %v71, splat (i32 127)
  %v73 = shl <16 x i32> %v72, splat (i32 23)
  %v74 = bitcast <16 x i32> %v73 to <16 x float>
  %v75 = fmul <16 x float> %v70, %v74
  %v76 = sub <16 x i32> %v58, %v71
  %v77 = add <16 x i32> %v76, splat (i32 127)
  %v78 = shl <16 x i32> %v77, splat (i32 23)
  %v79 = bitcast <16 x i32> %v78 to <16 x float>
  %v80 = fmul <16 x float> %v75, %v79
  %v81 = mul i64 %v46, %v19
  %v82 = getelementptr i8, ptr %v41, i64 %v81
  %v83 = getelementptr i8, ptr %v82, i64 64
  %v84 = load <16 x float>, ptr %v83, align 4
  %v85 = fcmp olt <16 x float> %v84, splat (float 0xC05A000000000000)
  %v86 = select <16 x i1> %v85, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v84
  %v87 = fcmp ogt <16 x float> %v86, splat (float 0x4056400000000000)
  %v88 = select <16 x i1> %v87, <16 x float> splat (float 0x4056400000000000), <16 x float> %v86
  %v89 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v88, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v90 = fsub <16 x float> %v89, splat (float 0x4168000000000000)
  %v91 = bitcast <16 x float> %v89 to <16 x i32>
  %v92 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v93 = sub <16 x i32> %v91, %v92
  %v94 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v90, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v88)
  %v95 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v90, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v94)
  %v96 = fsub <16 x float> %v94, %v95
  %v97 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v90, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v96)
  %v98 = fmul <16 x float> %v95, %v95
  %v99 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v95, <16 x float> splat (float 0x3F8120BE20000000))
  %v100 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v99, <16 x float> %v95, <16 x float> splat (float 0x3FA5555180000000))
  %v101 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v100, <16 x float> %v95, <16 x float> splat (float 0x3FC5554DC0000000))
  %v102 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v101, <16 x float> %v95, <16 x float> splat (float 0x3FE0000000000000))
  %v103 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v98, <16 x float> %v102, <16 x float> splat (float 0x0000000000000000))
  %v104 = fadd <16 x float> %v95, %v103
  %v105 = fadd <16 x float> %v104, splat (float 0x3FF0000000000000)
  %v106 = ashr <16 x i32> %v93, splat (i32 1)
  %v107 = add <16 x i32> %v106, splat (i32 127)
  %v108 = shl <16 x i32> %v107, splat (i32 23)
  %v109 = bitcast <16 x i32> %v108 to <16 x float>
  %v110 = fmul <16 x float> %v105, %v109
  %v111 = sub <16 x i32> %v93, %v106
  %v112 = add <16 x i32> %v111, splat (i32 127)
  %v113 = shl <16 x i32> %v112, splat (i32 23)
  %v114 = bitcast <16 x i32> %v113 to <16 x float>
  %v115 = fmul <16 x float> %v110, %v114
  %v116 = mul i64 %v46, %v20
  %v117 = getelementptr i8, ptr %v42, i64 %v116
  store <16 x float> %v80, ptr %v117, align 4
  %v118 = mul i64 %v46, %v20
  %v119 = getelementptr i8, ptr %v42, i64 %v118
  %v120 = getelementptr i8, ptr %v119, i64 64
  store <16 x float> %v115, ptr %v120, align 4
  %v121 = add nsw i64 %v46, 32
  %v122 = icmp slt i64 %v121, %v43
  br i1 %v122, label %loop44, label %done44
done44:
  %v124 = icmp slt i64 %v43, %v1
  br i1 %v124, label %loop123, label %done123
loop123:
  %v125 = phi i64 [ %v43, %done44 ], [ %v177, %loop123 ]
  %v126 = sub i64 %v1, %v125
  %v127 = icmp slt i64 %v126, 16
  %v128 = select i1 %v127, i64 %v126, i64 16
  %v129 = mul i64 %v125, %v19
  %v130 = getelementptr i8, ptr %v41, i64 %v129
  %v131 = icmp slt i64 %v128, 16
  %v132 = select i1 %v131, i64 %v128, i64 16
  %v133 = trunc i64 %v132 to i32
  %v134 = insertelement <16 x i32> poison, i32 %v133, i64 0
  %v135 = shufflevector <16 x i32> %v134, <16 x i32> poison, <16 x i32> zeroinitializer
  %v136 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v135
  %v137 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v130, <16 x i1> %v136, <16 x float> splat (float 0x0000000000000000))
  %v138 = fcmp olt <16 x float> %v137, splat (float 0xC05A000000000000)
  %v139 = select <16 x i1> %v138, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v137
  %v140 = fcmp ogt <16 x float> %v139, splat (float 0x4056400000000000)
  %v141 = select <16 x i1> %v140, <16 x float> splat (float 0x4056400000000000), <16 x float> %v139
  %v142 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v141, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v143 = fsub <16 x float> %v142, splat (float 0x4168000000000000)
  %v144 = bitcast <16 x float> %v142 to <16 x i32>
  %v145 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v146 = sub <16 x i32> %v144, %v145
  %v147 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v143, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v141)
  %v148 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v143, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v147)
  %v149 = fsub <16 x float> %v147, %v148
  %v150 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v143, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v149)
  %v151 = fmul <16 x float> %v148, %v148
  %v152 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v148, <16 x float> splat (float 0x3F8120BE20000000))
  %v153 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v152, <16 x float> %v148, <16 x float> splat (float 0x3FA5555180000000))
  %v154 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v153, <16 x float> %v148, <16 x float> splat (float 0x3FC5554DC0000000))
  %v155 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v154, <16 x float> %v148, <16 x float> splat (float 0x3FE0000000000000))
  %v156 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v151, <16 x float> %v155, <16 x float> splat (float 0x0000000000000000))
  %v157 = fadd <16 x float> %v148, %v156
  %v158 = fadd <16 x float> %v157, splat (float 0x3FF0000000000000)
  %v159 = ashr <16 x i32> %v146, splat (i32 1)
  %v160 = add <16 x i32> %v159, splat (i32 127)
  %v161 = shl <16 x i32> %v160, splat (i32 23)
  %v162 = bitcast <16 x i32> %v161 to <16 x float>
  %v163 = fmul <16 x float> %v158, %v162
  %v164 = sub <16 x i32> %v146, %v159
  %v165 = add <16 x i32> %v164, splat (i32 127)
  %v166 = shl <16 x i32> %v165, splat (i32 23)
  %v167 = bitcast <16 x i32> %v166 to <16 x float>
  %v168 = fmul <16 x float> %v163, %v167
  %v169 = mul i64 %v125, %v20
  %v170 = getelementptr i8, ptr %v42, i64 %v169
  %v171 = icmp slt i64 %v128, 16
  %v172 = select i1 %v171, i64 %v128, i64 16
  %v173 = trunc i64 %v172 to i32
  %v174 = insertelement <16 x i32> poison, i32 %v173, i64 0
  %v175 = shufflevector <16 x i32> %v174, <16 x i32> poison, <16 x i32> zeroinitializer
  %v176 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v175
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v168, ptr align 4 %v170, <16 x i1> %v176)
  %v177 = add nsw i64 %v125, 16
  %v178 = icmp slt i64 %v177, %v1
  br i1 %v178, label %loop123, label %done123
done123:
  %v179 = add nsw i64 %v31, 1
  %v180 = icmp slt i64 %v179, %v3
  br i1 %v180, label %loop29, label %done29
done29:
  br label %join28
no28:
  %v181 = load i64, ptr %sizes, align 8
  %v182 = getelementptr i8, ptr %sizes, i64 8
  %v183 = load i64, ptr %v182, align 8
  %v184 = getelementptr i8, ptr %strides, i64 16
  %v185 = load i64, ptr %v184, align 8
  %v186 = load i64, ptr %strides, align 8
  %v187 = getelementptr i8, ptr %strides, i64 24
  %v188 = load i64, ptr %v187, align 8
  %v189 = getelementptr i8, ptr %strides, i64 8
  %v190 = load i64, ptr %v189, align 8
  %v191 = getelementptr i8, ptr %data, i64 8
  %v192 = load ptr, ptr %data, align 8
  %v193 = load ptr, ptr %v191, align 8
  %v194 = icmp eq i64 %v185, 4
  %v195 = icmp eq i64 %v186, 4
  %v199 = icmp slt i64 0, %v183
  br i1 %v199, label %loop198, label %done198
loop198:
  %v200 = phi i64 [ 0, %no28 ], [ %v281, %done204 ]
  %v201 = sub i64 %v183, %v200
  %v202 = icmp slt i64 %v201, 64
  %v203 = select i1 %v202, i64 %v201, i64 64
  %v205 = icmp slt i64 0, %v181
  br i1 %v205, label %loop204, label %done204
loop204:
  %v206 = phi i64 [ 0, %loop198 ], [ %v279, %join278 ]
  %v207 = sub i64 %v181, %v206
  %v208 = icmp slt i64 %v207, 16
  %v209 = select i1 %v208, i64 %v207, i64 16
  %v210 = mul i64 %v200, %v188
  %v211 = getelementptr i8, ptr %v193, i64 %v210
  %v212 = mul i64 %v206, %v185
  %v213 = getelementptr i8, ptr %v211, i64 %v212
  %v214 = mul i64 %v200, %v190
  %v215 = getelementptr i8, ptr %v192, i64 %v214
  %v216 = mul i64 %v206, %v186
  %v217 = getelementptr i8, ptr %v215, i64 %v216
  %v218 = xor i1 %v194, true
  br i1 %v218, label %yes219, label %no219
yes219:
  call void @copy_block32(ptr %v213, ptr %v196, i64 %v185, i64 %v188, i64 4, i64 64, i64 %v209, i64 %v203)
  br label %join219
no219:
  br label %join219
join219:
  %v220 = select i1 %v194, ptr %v213, ptr %v196
  %v221 = select i1 %v194, i64 %v188, i64 64
  %v222 = select i1 %v195, ptr %v217, ptr %v197
  %v223 = select i1 %v195, i64 %v190, i64 64
  %v225 = icmp slt i64 0, %v203
  br i1 %v225, label %loop224, label %done224
loop224:
  %v226 = phi i64 [ 0, %join219 ], [ %v275, %loop224 ]
  %v227 = mul i64 %v226, %v221
  %v228 = getelementptr i8, ptr %v220, i64 %v227
  %v229 = mul i64 %v226, %v223
  %v230 = getelementptr i8, ptr %v222, i64 %v229
  %v231 = icmp slt i64 %v209, 16
  %v232 = select i1 %v231, i64 %v209, i64 16
  %v233 = trunc i64 %v232 to i32
  %v234 = insertelement <16 x i32> poison, i32 %v233, i64 0
  %v235 = shufflevector <16 x i32> %v234, <16 x i32> poison, <16 x i32> zeroinitializer
  %v236 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v235
  %v237 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v228, <16 x i1> %v236, <16 x float> splat (float 0x0000000000000000))
  %v238 = fcmp olt <16 x float> %v237, splat (float 0xC05A000000000000)
  %v239 = select <16 x i1> %v238, <16 x float> splat (float 0xC05A000000000000), <16 x float> %v237
  %v240 = fcmp ogt <16 x float> %v239, splat (float 0x4056400000000000)
  %v241 = select <16 x i1> %v240, <16 x float> splat (float 0x4056400000000000), <16 x float> %v239
  %v242 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v241, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v243 = fsub <16 x float> %v242, splat (float 0x4168000000000000)
  %v244 = bitcast <16 x float> %v242 to <16 x i32>
  %v245 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v246 = sub <16 x i32> %v244, %v245
  %v247 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v243, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v241)
  %v248 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v243, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v247)
  %v249 = fsub <16 x float> %v247, %v248
  %v250 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v243, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v249)
  %v251 = fmul <16 x float> %v248, %v248
  %v252 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v248, <16 x float> splat (float 0x3F8120BE20000000))
  %v253 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v252, <16 x float> %v248, <16 x float> splat (float 0x3FA5555180000000))
  %v254 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v253, <16 x float> %v248, <16 x float> splat (float 0x3FC5554DC0000000))
  %v255 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v254, <16 x float> %v248, <16 x float> splat (float 0x3FE0000000000000))
  %v256 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v251, <16 x float> %v255, <16 x float> splat (float 0x0000000000000000))
  %v257 = fadd <16 x float> %v248, %v256
  %v258 = fadd <16 x float> %v257, splat (float 0x3FF0000000000000)
  %v259 = ashr <16 x i32> %v246, splat (i32 1)
  %v260 = add <16 x i32> %v259, splat (i32 127)
  %v261 = shl <16 x i32> %v260, splat (i32 23)
  %v262 = bitcast <16 x i32> %v261 to <16 x float>
  %v263 = fmul <16 x float> %v258, %v262
  %v264 = sub <16 x i32> %v246, %v259
  %v265 = add <16 x i32> %v264, splat (i32 127)
  %v266 = shl <16 x i32> %v265, splat (i32 23)
  %v267 = bitcast <16 x i32> %v266 to <16 x float>
  %v268 = fmul <16 x float> %v263, %v267
  %v269 = icmp slt i64 %v209, 16
  %v270 = select i1 %v269, i64 %v209, i64 16
  %v271 = trunc i64 %v270 to i32
  %v272 = insertelement <16 x i32> poison, i32 %v271, i64 0
  %v273 = shufflevector <16 x i32> %v272, <16 x i32> poison, <16 x i32> zeroinitializer
  %v274 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v273
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v268, ptr align 4 %v230, <16 x i1> %v274)
  %v275 = add nsw i64 %v226, 1
  %v276 = icmp slt i64 %v275, %v203
  br i1 %v276, label %loop224, label %done224
done224:
  %v277 = xor i1 %v195, true
  br i1 %v277, label %yes278, label %no278
yes278:
  call void @copy_block32(ptr %v197, ptr %v217, i64 4, i64 64, i64 %v186, i64 %v190, i64 %v209, i64 %v203)
  br label %join278
no278:
  br label %join278
join278:
  %v279 = add nsw i64 %v206, 16
  %v280 = icmp slt i64 %v279, %v181
  br i1 %v280, label %loop204, label %done204
done204:
  %v281 = add nsw i64 %v200, 64
  %v282 = icmp slt i64 %v281, %v183
  br i1 %v282, label %loop198, label %done198
done198:
  br label %join28
join28:
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

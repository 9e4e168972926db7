declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr>, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32 immarg)
declare void @llvm.masked.scatter.v16f32.v16p0(<16 x float>, <16 x ptr>, <16 x i1>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v14 = alloca [128 x i8], align 64
  %v15 = alloca [128 x i8], align 64
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
  %v161 = getelementptr i8, ptr %strides, i64 16
  %v162 = load i64, ptr %v161, align 8
  %v163 = load i64, ptr %strides, align 8
  %v164 = getelementptr i8, ptr %data, i64 8
  %v165 = load ptr, ptr %data, align 8
  %v166 = load ptr, ptr %v164, align 8
  %v167 = load i64, ptr %sizes, align 8
  %v168 = getelementptr i8, ptr %strides, i64 16
  %v169 = load i64, ptr %v168, align 8
  %v170 = load i64, ptr %strides, align 8
  %v171 = getelementptr i8, ptr %strides, i64 24
  %v172 = load i64, ptr %v171, align 8
  %v173 = getelementptr i8, ptr %strides, i64 8
  %v174 = load i64, ptr %v173, align 8
  %v175 = getelementptr i8, ptr %sizes, i64 8
  %v176 = load i64, ptr %v175, align 8
  %v178 = icmp slt i64 0, %v176
  br i1 %v178, label %loop177, label %done177
loop177:
  %v179 = phi i64 [ 0, %no29 ], [ %v278, %done184 ]
  %v180 = mul i64 %v179, %v172
  %v181 = getelementptr i8, ptr %v166, i64 %v180
  %v182 = mul i64 %v179, %v174
  %v183 = getelementptr i8, ptr %v165, i64 %v182
  %v185 = icmp slt i64 0, %v167
  br i1 %v185, label %loop184, label %done184
loop184:
  %v186 = phi i64 [ 0, %loop177 ], [ %v276, %join264 ]
  %v187 = mul i64 %v186, %v169
  %v188 = getelementptr i8, ptr %v181, i64 %v187
  %v189 = mul i64 %v186, %v170
  %v190 = getelementptr i8, ptr %v183, i64 %v189
  %v191 = sub i64 %v167, %v186
  %v192 = icmp slt i64 %v191, 16
  %v193 = select i1 %v192, i64 %v191, i64 16
  %v194 = icmp slt i64 %v193, 16
  %v195 = select i1 %v194, i64 %v193, i64 16
  %v196 = trunc i64 %v195 to i32
  %v197 = insertelement <16 x i32> poison, i32 %v196, i64 0
  %v198 = shufflevector <16 x i32> %v197, <16 x i32> poison, <16 x i32> zeroinitializer
  %v199 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v198
  %v200 = icmp eq i64 %v162, 4
  br i1 %v200, label %yes201, label %no201
yes201:
  %v202 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v188, <16 x i1> %v199, <16 x float> splat (float 0x0000000000000000))
  br label %join201
no201:
  %v203 = icmp eq i64 %v162, 0
  br i1 %v203, label %yes204, label %no204
yes204:
  %v205 = icmp slt i64 1, 16
  %v206 = select i1 %v205, i64 1, i64 16
  %v207 = trunc i64 %v206 to i32
  %v208 = insertelement <16 x i32> poison, i32 %v207, i64 0
  %v209 = shufflevector <16 x i32> %v208, <16 x i32> poison, <16 x i32> zeroinitializer
  %v210 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v209
  %v211 = and <16 x i1> %v210, %v199
  %v212 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v188, <16 x i1> %v211, <16 x float> splat (float 0x0000000000000000))
  %v213 = extractelement <16 x float> %v212, i64 0
  %v214 = insertelement <16 x float> poison, float %v213, i64 0
  %v215 = shufflevector <16 x float> %v214, <16 x float> poison, <16 x i32> zeroinitializer
  br label %join204
no204:
  %v216 = icmp eq i64 %v162, 8
  br i1 %v216, label %yes217, label %no217
yes217:
  %v218 = shufflevector <16 x i1> %v199, <16 x i1> splat (i1 false), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  %v219 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v188, <16 x i1> %v218, <16 x float> splat (float 0x0000000000000000))
  %v220 = getelementptr i8, ptr %v188, i64 64
  %v221 = shufflevector <16 x i1> %v199, <16 x i1> splat (i1 false), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  %v222 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v220, <16 x i1> %v221, <16 x float> splat (float 0x0000000000000000))
  %v223 = shufflevector <16 x float> %v219, <16 x float> %v222, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30>
  br label %join217
no217:
  %v224 = icmp eq i64 %v162, -4
  br i1 %v224, label %yes225, label %no225
yes225:
  %v226 = getelementptr i8, ptr %v188, i64 -60
  %v227 = shufflevector <16 x i1> %v199, <16 x i1> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %v228 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v226, <16 x i1> %v227, <16 x float> splat (float 0x0000000000000000))
  %v229 = shufflevector <16 x float> %v228, <16 x float> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  br label %join225
no225:
  %v230 = insertelement <16 x i64> poison, i64 %v162, i64 0
  %v231 = shufflevector <16 x i64> %v230, <16 x i64> poison, <16 x i32> zeroinitializer
  %v232 = mul <16 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>, %v231
  %v233 = getelementptr i8, ptr %v188, <16 x i64> %v232
  %v234 = call <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr> align 4 %v233, <16 x i1> %v199, <16 x float> splat (float 0x0000000000000000))
  br label %join225
join225:
  %v235 = phi <16 x float> [ %v229, %yes225 ], [ %v234, %no225 ]
  br label %join217
join217:
  %v236 = phi <16 x float> [ %v223, %yes217 ], [ %v235, %join225 ]
  br label %join204
join204:
  %v237 = phi <16 x float> [ %v215, %yes204 ], [ %v236, %join217 ]
  br label %join201
join201:
  %v238 = phi <16 x float> [ %v202, %yes201 ], [ %v237, %join204 ]
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
  %v263 = icmp eq i64 %v163, 4
  br i1 %v263, label %yes264, label %no264
yes264:
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v262, ptr align 4 %v190, <16 x i1> %v199)
  br label %join264
no264:
  %v265 = icmp eq i64 %v163, 8
  br i1 %v265, label %yes266, label %no266
yes266:
  %v267 = shufflevector <16 x float> %v262, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  %v268 = shufflevector <16 x i1> %v199, <16 x i1> splat (i1 false), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v267, ptr align 4 %v190, <16 x i1> %v268)
  %v269 = getelementptr i8, ptr %v190, i64 64
  %v270 = shufflevector <16 x float> %v262, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  %v271 = shufflevector <16 x i1> %v199, <16 x i1> splat (i1 false), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v270, ptr align 4 %v269, <16 x i1> %v271)
  br label %join266
no266:
  %v272 = insertelement <16 x i64> poison, i64 %v163, i64 0
  %v273 = shufflevector <16 x i64> %v272, <16 x i64> poison, <16 x i32> zeroinitializer
  %v274 = mul <16 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>, %v273
  %v275 = getelementptr i8, ptr %v190, <16 x i64> %v274
  call void @llvm.masked.scatter.v16f32.v16p0(<16 x float> %v262, <16 x ptr> align 4 %v275, <16 x i1> %v199)
  br label %join266
join266:
  br label %join264
join264:
  %v276 = add nsw i64 %v186, 16
  %v277 = icmp slt i64 %v276, %v167
  br i1 %v277, label %loop184, label %done184
done184:
  %v278 = add nsw i64 %v179, 1
  %v279 = icmp slt i64 %v278, %v176
  br i1 %v279, label %loop177, label %done177
done177:
  br label %join29
join29:
  ret i64 0
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

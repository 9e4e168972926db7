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
  %v32 = phi i64 [ 0, %yes29 ], [ %v156, %done108 ]
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
  %v47 = phi i64 [ 0, %join37 ], [ %v106, %loop45 ]
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
  %v72 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v71, <16 x float> %v56, <16 x float> %v71, i16 -1, i32 4)
  %v73 = select <16 x i1> %v51, <16 x float> splat (float 0x0000000000000000), <16 x float> %v72
  %v74 = mul i64 %v47, %v19
  %v75 = getelementptr i8, ptr %v42, i64 %v74
  %v76 = getelementptr i8, ptr %v75, i64 64
  %v77 = load <16 x float>, ptr %v76, align 4
  %v78 = fcmp olt <16 x float> %v77, splat (float 0xC05A000000000000)
  %v79 = select <16 x i1> %v78, <16 x float> splat (float 0x0000000000000000), <16 x float> %v77
  %v80 = fcmp ogt <16 x float> %v79, splat (float 0x4056400000000000)
  %v81 = select <16 x i1> %v80, <16 x float> splat (float 0x4056400000000000), <16 x float> %v79
  %v82 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v81, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v83 = fsub <16 x float> %v82, splat (float 0x4168000000000000)
  %v84 = bitcast <16 x float> %v82 to <16 x i32>
  %v85 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v86 = sub <16 x i32> %v84, %v85
  %v87 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v83, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v81)
  %v88 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v83, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v87)
  %v89 = fsub <16 x float> %v87, %v88
  %v90 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v83, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v89)
  %v91 = fmul <16 x float> %v88, %v88
  %v92 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v88, <16 x float> splat (float 0x3F8120BE20000000))
  %v93 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v92, <16 x float> %v88, <16 x float> splat (float 0x3FA5555180000000))
  %v94 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v93, <16 x float> %v88, <16 x float> splat (float 0x3FC5554DC0000000))
  %v95 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v94, <16 x float> %v88, <16 x float> splat (float 0x3FE0000000000000))
  %v96 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v91, <16 x float> %v95, <16 x float> splat (float 0x0000000000000000))
  %v97 = fadd <16 x float> %v88, %v96
  %v98 = fadd <16 x float> %v97, splat (float 0x3FF0000000000000)
  %v99 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v98, <16 x float> %v83, <16 x float> %v98, i16 -1, i32 4)
  %v100 = select <16 x i1> %v78, <16 x float> splat (float 0x0000000000000000), <16 x float> %v99
  %v101 = mul i64 %v47, %v20
  %v102 = getelementptr i8, ptr %v43, i64 %v101
  store <16 x float> %v73, ptr %v102, align 4
  %v103 = mul i64 %v47, %v20
  %v104 = getelementptr i8, ptr %v43, i64 %v103
  %v105 = getelementptr i8, ptr %v104, i64 64
  store <16 x float> %v100, ptr %v105, align 4
  %v106 = add nsw i64 %v47, 32
  %v107 = icmp slt i64 %v106, %v44
  br i1 %v107, label %loop45, label %done45
done45:
  %v109 = icmp slt i64 %v44, %v1
  br i1 %v109, label %loop108, label %done108
loop108:
  %v110 = phi i64 [ %v44, %done45 ], [ %v154, %loop108 ]
  %v111 = sub i64 %v1, %v110
  %v112 = icmp slt i64 %v111, 16
  %v113 = select i1 %v112, i64 %v111, i64 16
  %v114 = mul i64 %v110, %v19
  %v115 = getelementptr i8, ptr %v42, i64 %v114
  %v116 = icmp slt i64 %v113, 16
  %v117 = select i1 %v116, i64 %v113, i64 16
  %v118 = trunc i64 %v117 to i32
  %v119 = insertelement <16 x i32> poison, i32 %v118, i64 0
  %v120 = shufflevector <16 x i32> %v119, <16 x i32> poison, <16 x i32> zeroinitializer
  %v121 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v120
  %v122 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v115, <16 x i1> %v121, <16 x float> splat (float 0x0000000000000000))
  %v123 = fcmp olt <16 x float> %v122, splat (float 0xC05A000000000000)
  %v124 = select <16 x i1> %v123, <16 x float> splat (float 0x0000000000000000), <16 x float> %v122
  %v125 = fcmp ogt <16 x float> %v124, splat (float 0x4056400000000000)
  %v126 = select <16 x i1> %v125, <16 x float> splat (float 0x4056400000000000), <16 x float> %v124
  %v127 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v126, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v128 = fsub <16 x float> %v127, splat (float 0x4168000000000000)
  %v129 = bitcast <16 x float> %v127 to <16 x i32>
  %v130 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v131 = sub <16 x i32> %v129, %v130
  %v132 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v128, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v126)
  %v133 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v128, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v132)
  %v134 = fsub <16 x float> %v132, %v133
  %v135 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v128, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v134)
  %v136 = fmul <16 x float> %v133, %v133
  %v137 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v133, <16 x float> splat (float 0x3F8120BE20000000))
  %v138 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v137, <16 x float> %v133, <16 x float> splat (float 0x3FA5555180000000))
  %v139 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v138, <16 x float> %v133, <16 x float> splat (float 0x3FC5554DC0000000))
  %v140 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v139, <16 x float> %v133, <16 x float> splat (float 0x3FE0000000000000))
  %v141 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v136, <16 x float> %v140, <16 x float> splat (float 0x0000000000000000))
  %v142 = fadd <16 x float> %v133, %v141
  %v143 = fadd <16 x float> %v142, splat (float 0x3FF0000000000000)
  %v144 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v143, <16 x float> %v128, <16 x float> %v143, i16 -1, i32 4)
  %v145 = select <16 x i1> %v123, <16 x float> splat (float 0x0000000000000000), <16 x float> %v144
  %v146 = mul i64 %v110, %v20
  %v147 = getelementptr i8, ptr %v43, i64 %v146
  %v148 = icmp slt i64 %v113, 16
  %v149 = select i1 %v148, i64 %v113, i64 16
  %v150 = trunc i64 %v149 to i32
  %v151 = insertelement <16 x i32> poison, i32 %v150, i64 0
  %v152 = shufflevector <16 x i32> %v151, <16 x i32> poison, <16 x i32> zeroinitializer
  %v153 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v152
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v145, ptr align 4 %v147, <16 x i1> %v153)
  %v154 = add nsw i64 %v110, 16
  %v155 = icmp slt i64 %v154, %v1
  br i1 %v155, label %loop108, label %done108
done108:
  %v156 = add nsw i64 %v32, 1
  %v157 = icmp slt i64 %v156, %v3
  br i1 %v157, label %loop30, label %done30
done30:
  br label %join29
no29:
  %v158 = getelementptr i8, ptr %strides, i64 16
  %v159 = load i64, ptr %v158, align 8
  %v160 = load i64, ptr %strides, align 8
  %v161 = getelementptr i8, ptr %data, i64 8
  %v162 = load ptr, ptr %data, align 8
  %v163 = load ptr, ptr %v161, align 8
  %v164 = load i64, ptr %sizes, align 8
  %v165 = getelementptr i8, ptr %strides, i64 16
  %v166 = load i64, ptr %v165, align 8
  %v167 = load i64, ptr %strides, align 8
  %v168 = getelementptr i8, ptr %strides, i64 24
  %v169 = load i64, ptr %v168, align 8
  %v170 = getelementptr i8, ptr %strides, i64 8
  %v171 = load i64, ptr %v170, align 8
  %v172 = getelementptr i8, ptr %sizes, i64 8
  %v173 = load i64, ptr %v172, align 8
  %v175 = icmp slt i64 0, %v173
  br i1 %v175, label %loop174, label %done174
loop174:
  %v176 = phi i64 [ 0, %no29 ], [ %v274, %done181 ]
  %v177 = mul i64 %v176, %v169
  %v178 = getelementptr i8, ptr %v163, i64 %v177
  %v179 = mul i64 %v176, %v171
  %v180 = getelementptr i8, ptr %v162, i64 %v179
  %v182 = icmp slt i64 0, %v164
  br i1 %v182, label %loop181, label %done181
loop181:
  %v183 = phi i64 [ 0, %loop174 ], [ %v272, %join260 ]
  %v184 = mul i64 %v183, %v166
  %v185 = getelementptr i8, ptr %v178, i64 %v184
  %v186 = mul i64 %v183, %v167
  %v187 = getelementptr i8, ptr %v180, i64 %v186
  %v188 = sub i64 %v164, %v183
  %v189 = icmp slt i64 %v188, 16
  %v190 = select i1 %v189, i64 %v188, i64 16
  %v191 = icmp slt i64 %v190, 16
  %v192 = select i1 %v191, i64 %v190, i64 16
  %v193 = trunc i64 %v192 to i32
  %v194 = insertelement <16 x i32> poison, i32 %v193, i64 0
  %v195 = shufflevector <16 x i32> %v194, <16 x i32> poison, <16 x i32> zeroinitializer
  %v196 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v195
  %v197 = icmp eq i64 %v159, 4
  br i1 %v197, label %yes198, label %no198
yes198:
  %v199 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v185, <16 x i1> %v196, <16 x float> splat (float 0x0000000000000000))
  br label %join198
no198:
  %v200 = icmp eq i64 %v159, 0
  br i1 %v200, label %yes201, label %no201
yes201:
  %v202 = icmp slt i64 1, 16
  %v203 = select i1 %v202, i64 1, i64 16
  %v204 = trunc i64 %v203 to i32
  %v205 = insertelement <16 x i32> poison, i32 %v204, i64 0
  %v206 = shufflevector <16 x i32> %v205, <16 x i32> poison, <16 x i32> zeroinitializer
  %v207 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v206
  %v208 = and <16 x i1> %v207, %v196
  %v209 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v185, <16 x i1> %v208, <16 x float> splat (float 0x0000000000000000))
  %v210 = extractelement <16 x float> %v209, i64 0
  %v211 = insertelement <16 x float> poison, float %v210, i64 0
  %v212 = shufflevector <16 x float> %v211, <16 x float> poison, <16 x i32> zeroinitializer
  br label %join201
no201:
  %v213 = icmp eq i64 %v159, 8
  br i1 %v213, label %yes214, label %no214
yes214:
  %v215 = shufflevector <16 x i1> %v196, <16 x i1> splat (i1 false), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  %v216 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v185, <16 x i1> %v215, <16 x float> splat (float 0x0000000000000000))
  %v217 = getelementptr i8, ptr %v185, i64 64
  %v218 = shufflevector <16 x i1> %v196, <16 x i1> splat (i1 false), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  %v219 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v217, <16 x i1> %v218, <16 x float> splat (float 0x0000000000000000))
  %v220 = shufflevector <16 x float> %v216, <16 x float> %v219, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30>
  br label %join214
no214:
  %v221 = icmp eq i64 %v159, -4
  br i1 %v221, label %yes222, label %no222
yes222:
  %v223 = getelementptr i8, ptr %v185, i64 -60
  %v224 = shufflevector <16 x i1> %v196, <16 x i1> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %v225 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v223, <16 x i1> %v224, <16 x float> splat (float 0x0000000000000000))
  %v226 = shufflevector <16 x float> %v225, <16 x float> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  br label %join222
no222:
  %v227 = insertelement <16 x i64> poison, i64 %v159, i64 0
  %v228 = shufflevector <16 x i64> %v227, <16 x i64> poison, <16 x i32> zeroinitializer
  %v229 = mul <16 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>, %v228
  %v230 = getelementptr i8, ptr %v185, <16 x i64> %v229
  %v231 = call <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr> align 4 %v230, <16 x i1> %v196, <16 x float> splat (float 0x0000000000000000))
  br label %join222
join222:
  %v232 = phi <16 x float> [ %v226, %yes222 ], [ %v231, %no222 ]
  br label %join214
join214:
  %v233 = phi <16 x float> [ %v220, %yes214 ], [ %v232, %join222 ]
  br label %join201
join201:
  %v234 = phi <16 x float> [ %v212, %yes201 ], [ %v233, %join214 ]
  br label %join198
join198:
  %v235 = phi <16 x float> [ %v199, %yes198 ], [ %v234, %join201 ]
  %v236 = fcmp olt <16 x float> %v235, splat (float 0xC05A000000000000)
  %v237 = select <16 x i1> %v236, <16 x float> splat (float 0x0000000000000000), <16 x float> %v235
  %v238 = fcmp ogt <16 x float> %v237, splat (float 0x4056400000000000)
  %v239 = select <16 x i1> %v238, <16 x float> splat (float 0x4056400000000000), <16 x float> %v237
  %v240 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v239, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v241 = fsub <16 x float> %v240, splat (float 0x4168000000000000)
  %v242 = bitcast <16 x float> %v240 to <16 x i32>
  %v243 = bitcast <16 x float> splat (float 0x4168000000000000) to <16 x i32>
  %v244 = sub <16 x i32> %v242, %v243
  %v245 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v241, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v239)
  %v246 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v241, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v245)
  %v247 = fsub <16 x float> %v245, %v246
  %v248 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v241, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v247)
  %v249 = fmul <16 x float> %v246, %v246
  %v250 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v246, <16 x float> splat (float 0x3F8120BE20000000))
  %v251 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v250, <16 x float> %v246, <16 x float> splat (float 0x3FA5555180000000))
  %v252 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v251, <16 x float> %v246, <16 x float> splat (float 0x3FC5554DC0000000))
  %v253 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v252, <16 x float> %v246, <16 x float> splat (float 0x3FE0000000000000))
  %v254 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v249, <16 x float> %v253, <16 x float> splat (float 0x0000000000000000))
  %v255 = fadd <16 x float> %v246, %v254
  %v256 = fadd <16 x float> %v255, splat (float 0x3FF0000000000000)
  %v257 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %v256, <16 x float> %v241, <16 x float> %v256, i16 -1, i32 4)
  %v258 = select <16 x i1> %v236, <16 x float> splat (float 0x0000000000000000), <16 x float> %v257
  %v259 = icmp eq i64 %v160, 4
  br i1 %v259, label %yes260, label %no260
yes260:
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v258, ptr align 4 %v187, <16 x i1> %v196)
  br label %join260
no260:
  %v261 = icmp eq i64 %v160, 8
  br i1 %v261, label %yes262, label %no262
yes262:
  %v263 = shufflevector <16 x float> %v258, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  %v264 = shufflevector <16 x i1> %v196, <16 x i1> splat (i1 false), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v263, ptr align 4 %v187, <16 x i1> %v264)
  %v265 = getelementptr i8, ptr %v187, i64 64
  %v266 = shufflevector <16 x float> %v258, <16 x float> splat (float 0x0000000000000000), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  %v267 = shufflevector <16 x i1> %v196, <16 x i1> splat (i1 false), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v266, ptr align 4 %v265, <16 x i1> %v267)
  br label %join262
no262:
  %v268 = insertelement <16 x i64> poison, i64 %v160, i64 0
  %v269 = shufflevector <16 x i64> %v268, <16 x i64> poison, <16 x i32> zeroinitializer
  %v270 = mul <16 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>, %v269
  %v271 = getelementptr i8, ptr %v187, <16 x i64> %v270
  call void @llvm.masked.scatter.v16f32.v16p0(<16 x float> %v258, <16 x ptr> align 4 %v271, <16 x i1> %v196)
  br label %join262
join262:
  br label %join260
join260:
  %v272 = add nsw i64 %v183, 16
  %v273 = icmp slt i64 %v272, %v164
  br i1 %v273, label %loop181, label %done181
done181:
  %v274 = add nsw i64 %v176, 1
  %v275 = icmp slt i64 %v274, %v173
  br i1 %v275, label %loop174, label %done174
done174:
  br label %join29
join29:
  ret i64 0
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

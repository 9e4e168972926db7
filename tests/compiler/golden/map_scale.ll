declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.scatter.v8f64.v8p0(<8 x double>, <8 x ptr>, <8 x i1>)
declare void @llvm.masked.store.v8f64.p0(<8 x double>, ptr, <8 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v98 = alloca [128 x i8], align 64
  %v99 = alloca [128 x i8], align 64
  %v1 = load double, ptr %params, align 8
  %v2 = load i64, ptr %sizes, align 8
  %v3 = getelementptr i8, ptr %sizes, i64 8
  %v4 = load i64, ptr %v3, align 8
  %v5 = getelementptr i8, ptr %strides, i64 16
  %v6 = load i64, ptr %v5, align 8
  %v7 = load i64, ptr %strides, align 8
  %v8 = getelementptr i8, ptr %strides, i64 24
  %v9 = load i64, ptr %v8, align 8
  %v10 = getelementptr i8, ptr %strides, i64 8
  %v11 = load i64, ptr %v10, align 8
  %v12 = getelementptr i8, ptr %data, i64 8
  %v13 = load ptr, ptr %data, align 8
  %v14 = load ptr, ptr %v12, align 8
  %v15 = icmp eq i64 %v4, 1
  %v16 = icmp eq i64 %v6, 4
  %v17 = and i1 %v15, %v16
  %v18 = icmp eq i64 %v7, 4
  %v19 = and i1 %v17, %v18
  br i1 %v19, label %yes20, label %no20
yes20:
  %v21 = and i64 %v2, -32
  %v23 = icmp slt i64 0, %v21
  br i1 %v23, label %loop22, label %done22
loop22:
  %v24 = phi i64 [ 0, %yes20 ], [ %v67, %loop22 ]
  %v25 = mul i64 %v24, 4
  %v26 = getelementptr i8, ptr %v14, i64 %v25
  %v27 = load <8 x float>, ptr %v26, align 4
  %v28 = fpext <8 x float> %v27 to <8 x double>
  %v29 = insertelement <8 x double> poison, double %v1, i64 0
  %v30 = shufflevector <8 x double> %v29, <8 x double> poison, <8 x i32> zeroinitializer
  %v31 = fmul <8 x double> %v28, %v30
  %v32 = mul i64 %v24, 4
  %v33 = getelementptr i8, ptr %v14, i64 %v32
  %v34 = getelementptr i8, ptr %v33, i64 32
  %v35 = load <8 x float>, ptr %v34, align 4
  %v36 = fpext <8 x float> %v35 to <8 x double>
  %v37 = insertelement <8 x double> poison, double %v1, i64 0
  %v38 = shufflevector <8 x double> %v37, <8 x double> poison, <8 x i32> zeroinitializer
  %v39 = fmul <8 x double> %v36, %v38
  %v40 = mul i64 %v24, 4
  %v41 = getelementptr i8, ptr %v14, i64 %v40
  %v42 = getelementptr i8, ptr %v41, i64 64
  %v43 = load <8 x float>, ptr %v42, align 4
  %v44 = fpext <8 x float> %v43 to <8 x double>
  %v45 = insertelement <8 x double> poison, double %v1, i64 0
  %v46 = shufflevector <8 x double> %v45, <8 x double> poison, <8 x i32> zeroinitializer
  %v47 = fmul <8 x double> %v44, %v46
  %v48 = mul i64 %v24, 4
  %v49 = getelementptr i8, ptr %v14, i64 %v48
  %v50 = getelementptr i8, ptr %v49, i64 96
  %v51 = load <8 x float>, ptr %v50, align 4
  %v52 = fpext <8 x float> %v51 to <8 x double>
  %v53 = insertelement <8 x double> poison, double %v1, i64 0
  %v54 = shufflevector <8 x double> %v53, <8 x double> poison, <8 x i32> zeroinitializer
  %v55 = fmul <8 x double> %v52, %v54
  %v56 = mul i64 %v24, 4
  %v57 = getelementptr i8, ptr %v13, i64 %v56
  store <8 x double> %v31, ptr %v57, align 8
  %v58 = mul i64 %v24, 4
  %v59 = getelementptr i8, ptr %v13, i64 %v58
  %v60 = getelementptr i8, ptr %v59, i64 32
  store <8 x double> %v39, ptr %v60, align 8
  %v61 = mul i64 %v24, 4
  %v62 = getelementptr i8, ptr %v13, i64 %v61
  %v63 = getelementptr i8, ptr %v62, i64 64
  store <8 x double> %v47, ptr %v63, align 8
  %v64 = mul i64 %v24, 4
  %v65 = getelementptr i8, ptr %v13, i64 %v64
  %v66 = getelementptr i8, ptr %v65, i64 96
  store <8 x double> %v55, ptr %v66, align 8
  %v67 = add nsw i64 %v24, 32
  %v68 = icmp slt i64 %v67, %v21
  br i1 %v68, label %loop22, label %done22
done22:
  %v70 = icmp slt i64 %v21, %v2
  br i1 %v70, label %loop69, label %done69
loop69:
  %v71 = phi i64 [ %v21, %done22 ], [ %v96, %loop69 ]
  %v72 = sub i64 %v2, %v71
  %v73 = icmp slt i64 %v72, 8
  %v74 = select i1 %v73, i64 %v72, i64 8
  %v75 = mul i64 %v71, 4
  %v76 = getelementptr i8, ptr %v14, i64 %v75
  %v77 = icmp slt i64 %v74, 8
  %v78 = select i1 %v77, i64 %v74, i64 8
  %v79 = trunc i64 %v78 to i32
  %v80 = insertelement <8 x i32> poison, i32 %v79, i64 0
  %v81 = shufflevector <8 x i32> %v80, <8 x i32> poison, <8 x i32> zeroinitializer
  %v82 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v81
  %v83 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v76, <8 x i1> %v82, <8 x float> splat (float 0x0000000000000000))
  %v84 = fpext <8 x float> %v83 to <8 x double>
  %v85 = insertelement <8 x double> poison, double %v1, i64 0
  %v86 = shufflevector <8 x double> %v85, <8 x double> poison, <8 x i32> zeroinitializer
  %v87 = fmul <8 x double> %v84, %v86
  %v88 = mul i64 %v71, 4
  %v89 = getelementptr i8, ptr %v13, i64 %v88
  %v90 = icmp slt i64 %v74, 8
  %v91 = select i1 %v90, i64 %v74, i64 8
  %v92 = trunc i64 %v91 to i32
  %v93 = insertelement <8 x i32> poison, i32 %v92, i64 0
  %v94 = shufflevector <8 x i32> %v93, <8 x i32> poison, <8 x i32> zeroinitializer
  %v95 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v94
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v87, ptr align 8 %v89, <8 x i1> %v95)
  %v96 = add nsw i64 %v71, 8
  %v97 = icmp slt i64 %v96, %v2
  br i1 %v97, label %loop69, label %done69
done69:
  br label %join20
no20:
  %v100 = icmp eq i64 %v6, 0
  %v101 = icmp eq i64 %v6, 4
  %v102 = icmp eq i64 %v7, 4
  %v103 = select i1 %v101, i64 4, i64 0
  %v104 = select i1 %v102, i64 4, i64 0
  %v105 = xor i1 %v101, true
  %v106 = xor i1 %v102, true
  %v107 = or i1 %v101, %v100
  %v108 = xor i1 %v107, true
  %v109 = xor i1 %v108, true
  %v110 = and i1 true, %v109
  %v111 = xor i1 %v106, true
  %v112 = and i1 %v110, %v111
  br i1 %v112, label %yes113, label %no113
yes113:
  %v115 = icmp slt i64 0, %v4
  br i1 %v115, label %loop114, label %done114
loop114:
  %v116 = phi i64 [ 0, %yes113 ], [ %v207, %done178 ]
  %v117 = mul i64 %v116, %v9
  %v118 = getelementptr i8, ptr %v14, i64 %v117
  %v119 = mul i64 %v116, %v11
  %v120 = getelementptr i8, ptr %v13, i64 %v119
  br i1 %v100, label %yes121, label %no121
yes121:
  %v122 = load float, ptr %v118, align 4
  %v123 = insertelement <8 x float> poison, float %v122, i64 0
  %v124 = shufflevector <8 x float> %v123, <8 x float> poison, <8 x i32> zeroinitializer
  store <8 x float> %v124, ptr %v98, align 4
  %v125 = getelementptr i8, ptr %v98, i64 32
  store <8 x float> %v124, ptr %v125, align 4
  %v126 = getelementptr i8, ptr %v98, i64 64
  store <8 x float> %v124, ptr %v126, align 4
  %v127 = getelementptr i8, ptr %v98, i64 96
  store <8 x float> %v124, ptr %v127, align 4
  br label %join121
no121:
  br label %join121
join121:
  %v128 = select i1 %v101, ptr %v118, ptr %v98
  %v129 = select i1 %v102, ptr %v120, ptr %v99
  %v130 = and i64 %v2, -32
  %v132 = icmp slt i64 0, %v130
  br i1 %v132, label %loop131, label %done131
loop131:
  %v133 = phi i64 [ 0, %join121 ], [ %v176, %loop131 ]
  %v134 = mul i64 %v133, %v103
  %v135 = getelementptr i8, ptr %v128, i64 %v134
  %v136 = load <8 x float>, ptr %v135, align 4
  %v137 = fpext <8 x float> %v136 to <8 x double>
  %v138 = insertelement <8 x double> poison, double %v1, i64 0
  %v139 = shufflevector <8 x double> %v138, <8 x double> poison, <8 x i32> zeroinitializer
  %v140 = fmul <8 x double> %v137, %v139
  %v141 = mul i64 %v133, %v103
  %v142 = getelementptr i8, ptr %v128, i64 %v141
  %v143 = getelementptr i8, ptr %v142, i64 32
  %v144 = load <8 x float>, ptr %v143, align 4
  %v145 = fpext <8 x float> %v144 to <8 x double>
  %v146 = insertelement <8 x double> poison, double %v1, i64 0
  %v147 = shufflevector <8 x double> %v146, <8 x double> poison, <8 x i32> zeroinitializer
  %v148 = fmul <8 x double> %v145, %v147
  %v149 = mul i64 %v133, %v103
  %v150 = getelementptr i8, ptr %v128, i64 %v149
  %v151 = getelementptr i8, ptr %v150, i64 64
  %v152 = load <8 x float>, ptr %v151, align 4
  %v153 = fpext <8 x float> %v152 to <8 x double>
  %v154 = insertelement <8 x double> poison, double %v1, i64 0
  %v155 = shufflevector <8 x double> %v154, <8 x double> poison, <8 x i32> zeroinitializer
  %v156 = fmul <8 x double> %v153, %v155
  %v157 = mul i64 %v133, %v103
  %v158 = getelementptr i8, ptr %v128, i64 %v157
  %v159 = getelementptr i8, ptr %v158, i64 96
  %v160 = load <8 x float>, ptr %v159, align 4
  %v161 = fpext <8 x float> %v160 to <8 x double>
  %v162 = insertelement <8 x double> poison, double %v1, i64 0
  %v163 = shufflevector <8 x double> %v162, <8 x double> poison, <8 x i32> zeroinitializer
  %v164 = fmul <8 x double> %v161, %v163
  %v165 = mul i64 %v133, %v104
  %v166 = getelementptr i8, ptr %v129, i64 %v165
  store <8 x double> %v140, ptr %v166, align 8
  %v167 = mul i64 %v133, %v104
  %v168 = getelementptr i8, ptr %v129, i64 %v167
  %v169 = getelementptr i8, ptr %v168, i64 32
  store <8 x double> %v148, ptr %v169, align 8
  %v170 = mul i64 %v133, %v104
  %v171 = getelementptr i8, ptr %v129, i64 %v170
  %v172 = getelementptr i8, ptr %v171, i64 64
  store <8 x double> %v156, ptr %v172, align 8
  %v173 = mul i64 %v133, %v104
  %v174 = getelementptr i8, ptr %v129, i64 %v173
  %v175 = getelementptr i8, ptr %v174, i64 96
  store <8 x double> %v164, ptr %v175, align 8
  %v176 = add nsw i64 %v133, 32
  %v177 = icmp slt i64 %v176, %v130
  br i1 %v177, label %loop131, label %done131
done131:
  %v179 = icmp slt i64 %v130, %v2
  br i1 %v179, label %loop178, label %done178
loop178:
  %v180 = phi i64 [ %v130, %done131 ], [ %v205, %loop178 ]
  %v181 = sub i64 %v2, %v180
  %v182 = icmp slt i64 %v181, 8
  %v183 = select i1 %v182, i64 %v181, i64 8
  %v184 = mul i64 %v180, %v103
  %v185 = getelementptr i8, ptr %v128, i64 %v184
  %v186 = icmp slt i64 %v183, 8
  %v187 = select i1 %v186, i64 %v183, i64 8
  %v188 = trunc i64 %v187 to i32
  %v189 = insertelement <8 x i32> poison, i32 %v188, i64 0
  %v190 = shufflevector <8 x i32> %v189, <8 x i32> poison, <8 x i32> zeroinitializer
  %v191 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v190
  %v192 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v185, <8 x i1> %v191, <8 x float> splat (float 0x0000000000000000))
  %v193 = fpext <8 x float> %v192 to <8 x double>
  %v194 = insertelement <8 x double> poison, double %v1, i64 0
  %v195 = shufflevector <8 x double> %v194, <8 x double> poison, <8 x i32> zeroinitializer
  %v196 = fmul <8 x double> %v193, %v195
  %v197 = mul i64 %v180, %v104
  %v198 = getelementptr i8, ptr %v129, i64 %v197
  %v199 = icmp slt i64 %v183, 8
  %v200 = select i1 %v199, i64 %v183, i64 8
  %v201 = trunc i64 %v200 to i32
  %v202 = insertelement <8 x i32> poison, i32 %v201, i64 0
  %v203 = shufflevector <8 x i32> %v202, <8 x i32> poison, <8 x i32> zeroinitializer
  %v204 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v203
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v196, ptr align 8 %v198, <8 x i1> %v204)
  %v205 = add nsw i64 %v180, 8
  %v206 = icmp slt i64 %v205, %v2
  br i1 %v206, label %loop178, label %done178
done178:
  %v207 = add nsw i64 %v116, 1
  %v208 = icmp slt i64 %v207, %v4
  br i1 %v208, label %loop114, label %done114
done114:
  br label %join113
no113:
  %v209 = getelementptr i8, ptr %strides, i64 16
  %v210 = load i64, ptr %v209, align 8
  %v211 = load i64, ptr %strides, align 8
  %v212 = getelementptr i8, ptr %data, i64 8
  %v213 = load ptr, ptr %data, align 8
  %v214 = load ptr, ptr %v212, align 8
  %v215 = load i64, ptr %sizes, align 8
  %v216 = getelementptr i8, ptr %strides, i64 16
  %v217 = load i64, ptr %v216, align 8
  %v218 = load i64, ptr %strides, align 8
  %v219 = getelementptr i8, ptr %strides, i64 24
  %v220 = load i64, ptr %v219, align 8
  %v221 = getelementptr i8, ptr %strides, i64 8
  %v222 = load i64, ptr %v221, align 8
  %v223 = getelementptr i8, ptr %sizes, i64 8
  %v224 = load i64, ptr %v223, align 8
  %v226 = icmp slt i64 0, %v224
  br i1 %v226, label %loop225, label %done225
loop225:
  %v227 = phi i64 [ 0, %no113 ], [ %v309, %done232 ]
  %v228 = mul i64 %v227, %v220
  %v229 = getelementptr i8, ptr %v214, i64 %v228
  %v230 = mul i64 %v227, %v222
  %v231 = getelementptr i8, ptr %v213, i64 %v230
  %v233 = icmp slt i64 0, %v215
  br i1 %v233, label %loop232, label %done232
loop232:
  %v234 = phi i64 [ 0, %loop225 ], [ %v307, %join295 ]
  %v235 = mul i64 %v234, %v217
  %v236 = getelementptr i8, ptr %v229, i64 %v235
  %v237 = mul i64 %v234, %v218
  %v238 = getelementptr i8, ptr %v231, i64 %v237
  %v239 = sub i64 %v215, %v234
  %v240 = icmp slt i64 %v239, 8
  %v241 = select i1 %v240, i64 %v239, i64 8
  %v242 = icmp slt i64 %v241, 8
  %v243 = select i1 %v242, i64 %v241, i64 8
  %v244 = trunc i64 %v243 to i32
  %v245 = insertelement <8 x i32> poison, i32 %v244, i64 0
  %v246 = shufflevector <8 x i32> %v245, <8 x i32> poison, <8 x i32> zeroinitializer
  %v247 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v246
  %v248 = icmp eq i64 %v210, 4
  br i1 %v248, label %yes249, label %no249
yes249:
  %v250 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v236, <8 x i1> %v247, <8 x float> splat (float 0x0000000000000000))
  br label %join249
no249:
  %v251 = icmp eq i64 %v210, 0
  br i1 %v251, label %yes252, label %no252
yes252:
  %v253 = bitcast <8 x i1> %v247 to i8
  %v254 = icmp ne i8 %v253, 0
  %v255 = select i1 %v254, i64 1, i64 0
  %v256 = icmp slt i64 %v255, 8
  %v257 = select i1 %v256, i64 %v255, i64 8
  %v258 = trunc i64 %v257 to i32
  %v259 = insertelement <8 x i32> poison, i32 %v258, i64 0
  %v260 = shufflevector <8 x i32> %v259, <8 x i32> poison, <8 x i32> zeroinitializer
  %v261 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v260
  %v262 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v236, <8 x i1> %v261, <8 x float> splat (float 0x0000000000000000))
  %v263 = extractelement <8 x float> %v262, i64 0
  %v264 = insertelement <8 x float> poison, float %v263, i64 0
  %v265 = shufflevector <8 x float> %v264, <8 x float> poison, <8 x i32> zeroinitializer
  %v266 = select <8 x i1> %v247, <8 x float> %v265, <8 x float> splat (float 0x0000000000000000)
  br label %join252
no252:
  %v267 = icmp eq i64 %v210, 8
  br i1 %v267, label %yes268, label %no268
yes268:
  %v269 = shufflevector <8 x i1> %v247, <8 x i1> splat (i1 false), <8 x i32> <i32 0, i32 8, i32 1, i32 8, i32 2, i32 8, i32 3, i32 8>
  %v270 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v236, <8 x i1> %v269, <8 x float> splat (float 0x0000000000000000))
  %v271 = getelementptr i8, ptr %v236, i64 32
  %v272 = shufflevector <8 x i1> %v247, <8 x i1> splat (i1 false), <8 x i32> <i32 4, i32 8, i32 5, i32 8, i32 6, i32 8, i32 7, i32 8>
  %v273 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v271, <8 x i1> %v272, <8 x float> splat (float 0x0000000000000000))
  %v274 = shufflevector <8 x float> %v270, <8 x float> %v273, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14>
  br label %join268
no268:
  %v275 = icmp eq i64 %v210, -4
  br i1 %v275, label %yes276, label %no276
yes276:
  %v277 = getelementptr i8, ptr %v236, i64 -28
  %v278 = shufflevector <8 x i1> %v247, <8 x i1> poison, <8 x i32> <i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %v279 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v277, <8 x i1> %v278, <8 x float> splat (float 0x0000000000000000))
  %v280 = shufflevector <8 x float> %v279, <8 x float> poison, <8 x i32> <i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  br label %join276
no276:
  %v281 = insertelement <8 x i64> poison, i64 %v210, i64 0
  %v282 = shufflevector <8 x i64> %v281, <8 x i64> poison, <8 x i32> zeroinitializer
  %v283 = mul <8 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>, %v282
  %v284 = getelementptr i8, ptr %v236, <8 x i64> %v283
  %v285 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %v284, <8 x i1> %v247, <8 x float> splat (float 0x0000000000000000))
  br label %join276
join276:
  %v286 = phi <8 x float> [ %v280, %yes276 ], [ %v285, %no276 ]
  br label %join268
join268:
  %v287 = phi <8 x float> [ %v274, %yes268 ], [ %v286, %join276 ]
  br label %join252
join252:
  %v288 = phi <8 x float> [ %v266, %yes252 ], [ %v287, %join268 ]
  br label %join249
join249:
  %v289 = phi <8 x float> [ %v250, %yes249 ], [ %v288, %join252 ]
  %v290 = fpext <8 x float> %v289 to <8 x double>
  %v291 = insertelement <8 x double> poison, double %v1, i64 0
  %v292 = shufflevector <8 x double> %v291, <8 x double> poison, <8 x i32> zeroinitializer
  %v293 = fmul <8 x double> %v290, %v292
  %v294 = icmp eq i64 %v211, 8
  br i1 %v294, label %yes295, label %no295
yes295:
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v293, ptr align 8 %v238, <8 x i1> %v247)
  br label %join295
no295:
  %v296 = icmp eq i64 %v211, 16
  br i1 %v296, label %yes297, label %no297
yes297:
  %v298 = shufflevector <8 x double> %v293, <8 x double> splat (double 0x0000000000000000), <8 x i32> <i32 0, i32 8, i32 1, i32 8, i32 2, i32 8, i32 3, i32 8>
  %v299 = shufflevector <8 x i1> %v247, <8 x i1> splat (i1 false), <8 x i32> <i32 0, i32 8, i32 1, i32 8, i32 2, i32 8, i32 3, i32 8>
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v298, ptr align 8 %v238, <8 x i1> %v299)
  %v300 = getelementptr i8, ptr %v238, i64 64
  %v301 = shufflevector <8 x double> %v293, <8 x double> splat (double 0x0000000000000000), <8 x i32> <i32 4, i32 8, i32 5, i32 8, i32 6, i32 8, i32 7, i32 8>
  %v302 = shufflevector <8 x i1> %v247, <8 x i1> splat (i1 false), <8 x i32> <i32 4, i32 8, i32 5, i32 8, i32 6, i32 8, i32 7, i32 8>
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v301, ptr align 8 %v300, <8 x i1> %v302)
  br label %join297
no297:
  %v303 = insertelement <8 x i64> poison, i64 %v211, i64 0
  %v304 = shufflevector <8 x i64> %v303, <8 x i64> poison, <8 x i32> zeroinitializer
  %v305 = mul <8 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>, %v304
  %v306 = getelementptr i8, ptr %v238, <8 x i64> %v305
  call void @llvm.masked.scatter.v8f64.v8p0(<8 x double> %v293, <8 x ptr> align 8 %v306, <8 x i1> %v247)
  br label %join297
join297:
  br label %join295
join295:
  %v307 = add nsw i64 %v234, 8
  %v308 = icmp slt i64 %v307, %v215
  br i1 %v308, label %loop232, label %done232
done232:
  %v309 = add nsw i64 %v227, 1
  %v310 = icmp slt i64 %v309, %v224
  br i1 %v310, label %loop225, label %done225
done225:
  br label %join113
join113:
  br label %join20
join20:
  ret i64 0
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

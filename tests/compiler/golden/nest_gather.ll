declare <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr>, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare i64 @llvm.cttz.i64(i64, i1 immarg)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define i64 @kernel(ptr %data, ptr %sizes, ptr %strides, ptr %params) #0 {
entry:
  %v32 = alloca [512 x i8], align 64
  %v1 = getelementptr i8, ptr %data, i64 8
  %v2 = getelementptr i8, ptr %data, i64 16
  %v3 = load ptr, ptr %data, align 8
  %v4 = load ptr, ptr %v1, align 8
  %v5 = load ptr, ptr %v2, align 8
  %v6 = load i64, ptr %sizes, align 8
  %v7 = getelementptr i8, ptr %sizes, i64 8
  %v8 = load i64, ptr %v7, align 8
  %v9 = getelementptr i8, ptr %sizes, i64 16
  %v10 = load i64, ptr %v9, align 8
  %v11 = getelementptr i8, ptr %sizes, i64 24
  %v12 = load i64, ptr %v11, align 8
  %v13 = getelementptr i8, ptr %sizes, i64 32
  %v14 = load i64, ptr %v13, align 8
  %v15 = load i64, ptr %strides, align 8
  %v16 = getelementptr i8, ptr %strides, i64 8
  %v17 = load i64, ptr %v16, align 8
  %v18 = getelementptr i8, ptr %sizes, i64 40
  %v19 = load i64, ptr %v18, align 8
  %v20 = getelementptr i8, ptr %strides, i64 16
  %v21 = load i64, ptr %v20, align 8
  %v22 = getelementptr i8, ptr %sizes, i64 48
  %v23 = load i64, ptr %v22, align 8
  %v24 = getelementptr i8, ptr %sizes, i64 56
  %v25 = load i64, ptr %v24, align 8
  %v26 = getelementptr i8, ptr %strides, i64 24
  %v27 = load i64, ptr %v26, align 8
  %v28 = getelementptr i8, ptr %strides, i64 32
  %v29 = load i64, ptr %v28, align 8
  %v30 = icmp sle i64 %v10, 0
  br i1 %v30, label %leave31, label %go31
leave31:
  ret i64 0
go31:
  %v33 = icmp eq i64 %v17, 4
  %v34 = and i1 true, %v33
  br i1 %v34, label %yes35, label %no35
yes35:
  %v36 = mul i64 0, %v27
  %v37 = add i64 %v36, %v29
  %v39 = icmp slt i64 %v6, %v8
  br i1 %v39, label %loop38, label %done38
loop38:
  %v40 = phi i64 [ %v6, %yes35 ], [ %v185, %done58 ]
  %v41 = mul i64 %v40, %v21
  %v42 = getelementptr i8, ptr %v4, i64 %v41
  %v43 = icmp ult i64 %v40, %v19
  %v44 = and i1 true, %v43
  %v45 = xor i1 %v44, true
  br i1 %v45, label %leave46, label %go46
leave46:
  %v47 = and i64 %v40, 281474976710655
  %v48 = or i64 %v47, 281474976710656
  ret i64 %v48
go46:
  %v49 = load i64, ptr %v42, align 8
  %v50 = mul i64 %v40, %v15
  %v51 = getelementptr i8, ptr %v3, i64 %v50
  %v52 = icmp ult i64 %v40, %v12
  %v53 = and i1 true, %v52
  %v54 = mul i64 %v49, %v27
  %v55 = getelementptr i8, ptr %v5, i64 %v54
  %v56 = icmp ult i64 %v49, %v23
  %v57 = and i1 true, %v56
  %v59 = icmp slt i64 0, %v10
  br i1 %v59, label %loop58, label %done58
loop58:
  %v60 = phi i64 [ 0, %go46 ], [ %v183, %go174 ]
  %v61 = sub i64 %v10, %v60
  %v62 = icmp slt i64 %v61, 16
  %v63 = select i1 %v62, i64 %v61, i64 16
  %v64 = trunc i64 %v63 to i32
  %v65 = insertelement <16 x i32> poison, i32 %v64, i64 0
  %v66 = shufflevector <16 x i32> %v65, <16 x i32> poison, <16 x i32> zeroinitializer
  %v67 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v66
  %v68 = mul i64 %v60, %v29
  %v69 = getelementptr i8, ptr %v55, i64 %v68
  %v70 = insertelement <16 x i1> poison, i1 %v57, i64 0
  %v71 = shufflevector <16 x i1> %v70, <16 x i1> poison, <16 x i32> zeroinitializer
  %v72 = sub i64 0, %v60
  %v73 = icmp sgt i64 %v72, 0
  %v74 = select i1 %v73, i64 %v72, i64 0
  %v75 = icmp slt i64 %v74, 16
  %v76 = select i1 %v75, i64 %v74, i64 16
  %v77 = trunc i64 %v76 to i32
  %v78 = insertelement <16 x i32> poison, i32 %v77, i64 0
  %v79 = shufflevector <16 x i32> %v78, <16 x i32> poison, <16 x i32> zeroinitializer
  %v80 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v79
  %v81 = sub i64 %v25, %v60
  %v82 = icmp sgt i64 %v81, 0
  %v83 = select i1 %v82, i64 %v81, i64 0
  %v84 = icmp slt i64 %v83, 16
  %v85 = select i1 %v84, i64 %v83, i64 16
  %v86 = trunc i64 %v85 to i32
  %v87 = insertelement <16 x i32> poison, i32 %v86, i64 0
  %v88 = shufflevector <16 x i32> %v87, <16 x i32> poison, <16 x i32> zeroinitializer
  %v89 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v88
  %v90 = xor <16 x i1> %v80, splat (i1 true)
  %v91 = and <16 x i1> %v89, %v90
  %v92 = and <16 x i1> %v71, %v91
  %v93 = xor <16 x i1> %v92, splat (i1 true)
  %v94 = and <16 x i1> %v93, %v67
  %v95 = bitcast <16 x i1> %v94 to i16
  %v96 = icmp ne i16 %v95, 0
  br i1 %v96, label %leave97, label %go97
leave97:
  %v98 = bitcast <16 x i1> %v94 to i16
  %v99 = zext i16 %v98 to i64
  %v100 = call i64 @llvm.cttz.i64(i64 %v99, i1 true)
  %v101 = mul i64 %v40, %v10
  %v102 = add i64 %v60, %v100
  %v103 = add i64 %v101, %v102
  %v104 = and i64 %v103, 281474976710655
  %v105 = or i64 %v104, 281474976710656
  ret i64 %v105
go97:
  %v106 = icmp eq i64 %v37, 4
  br i1 %v106, label %yes107, label %no107
yes107:
  %v108 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v69, <16 x i1> %v67, <16 x float> splat (float 0x0000000000000000))
  br label %join107
no107:
  %v109 = icmp eq i64 %v37, 0
  br i1 %v109, label %yes110, label %no110
yes110:
  %v111 = icmp slt i64 1, 16
  %v112 = select i1 %v111, i64 1, i64 16
  %v113 = trunc i64 %v112 to i32
  %v114 = insertelement <16 x i32> poison, i32 %v113, i64 0
  %v115 = shufflevector <16 x i32> %v114, <16 x i32> poison, <16 x i32> zeroinitializer
  %v116 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v115
  %v117 = and <16 x i1> %v116, %v67
  %v118 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v69, <16 x i1> %v117, <16 x float> splat (float 0x0000000000000000))
  %v119 = extractelement <16 x float> %v118, i64 0
  %v120 = insertelement <16 x float> poison, float %v119, i64 0
  %v121 = shufflevector <16 x float> %v120, <16 x float> poison, <16 x i32> zeroinitializer
  br label %join110
no110:
  %v122 = icmp eq i64 %v37, 8
  br i1 %v122, label %yes123, label %no123
yes123:
  %v124 = shufflevector <16 x i1> %v67, <16 x i1> splat (i1 false), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  %v125 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v69, <16 x i1> %v124, <16 x float> splat (float 0x0000000000000000))
  %v126 = getelementptr i8, ptr %v69, i64 64
  %v127 = shufflevector <16 x i1> %v67, <16 x i1> splat (i1 false), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  %v128 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v126, <16 x i1> %v127, <16 x float> splat (float 0x0000000000000000))
  %v129 = shufflevector <16 x float> %v125, <16 x float> %v128, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30>
  br label %join123
no123:
  %v130 = icmp eq i64 %v37, -4
  br i1 %v130, label %yes131, label %no131
yes131:
  %v132 = getelementptr i8, ptr %v69, i64 -60
  %v133 = shufflevector <16 x i1> %v67, <16 x i1> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %v134 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v132, <16 x i1> %v133, <16 x float> splat (float 0x0000000000000000))
  %v135 = shufflevector <16 x float> %v134, <16 x float> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  br label %join131
no131:
  %v136 = insertelement <16 x i64> poison, i64 %v37, i64 0
  %v137 = shufflevector <16 x i64> %v136, <16 x i64> poison, <16 x i32> zeroinitializer
  %v138 = mul <16 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>, %v137
  %v139 = getelementptr i8, ptr %v69, <16 x i64> %v138
  %v140 = call <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr> align 4 %v139, <16 x i1> %v67, <16 x float> splat (float 0x0000000000000000))
  br label %join131
join131:
  %v141 = phi <16 x float> [ %v135, %yes131 ], [ %v140, %no131 ]
  br label %join123
join123:
  %v142 = phi <16 x float> [ %v129, %yes123 ], [ %v141, %join131 ]
  br label %join110
join110:
  %v143 = phi <16 x float> [ %v121, %yes110 ], [ %v142, %join123 ]
  br label %join107
join107:
  %v144 = phi <16 x float> [ %v108, %yes107 ], [ %v143, %join110 ]
  %v145 = mul i64 %v60, %v17
  %v146 = getelementptr i8, ptr %v51, i64 %v145
  %v147 = insertelement <16 x i1> poison, i1 %v53, i64 0
  %v148 = shufflevector <16 x i1> %v147, <16 x i1> poison, <16 x i32> zeroinitializer
  %v149 = sub i64 0, %v60
  %v150 = icmp sgt i64 %v149, 0
  %v151 = select i1 %v150, i64 %v149, i64 0
  %v152 = icmp slt i64 %v151, 16
  %v153 = select i1 %v152, i64 %v151, i64 16
  %v154 = trunc i64 %v153 to i32
  %v155 = insertelement <16 x i32> poison, i32 %v154, i64 0
  %v156 = shufflevector <16 x i32> %v155, <16 x i32> poison, <16 x i32> zeroinitializer
  %v157 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v156
  %v158 = sub i64 %v14, %v60
  %v159 = icmp sgt i64 %v158, 0
  %v160 = select i1 %v159, i64 %v158, i64 0
  %v161 = icmp slt i64 %v160, 16
  %v162 = select i1 %v161, i64 %v160, i64 16
  %v163 = trunc i64 %v162 to i32
  %v164 = insertelement <16 x i32> poison, i32 %v163, i64 0
  %v165 = shufflevector <16 x i32> %v164, <16 x i32> poison, <16 x i32> zeroinitializer
  %v166 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v165
  %v167 = xor <16 x i1> %v157, splat (i1 true)
  %v168 = and <16 x i1> %v166, %v167
  %v169 = and <16 x i1> %v148, %v168
  %v170 = xor <16 x i1> %v169, splat (i1 true)
  %v171 = and <16 x i1> %v170, %v67
  %v172 = bitcast <16 x i1> %v171 to i16
  %v173 = icmp ne i16 %v172, 0
  br i1 %v173, label %leave174, label %go174
leave174:
  %v175 = bitcast <16 x i1> %v171 to i16
  %v176 = zext i16 %v175 to i64
  %v177 = call i64 @llvm.cttz.i64(i64 %v176, i1 true)
  %v178 = mul i64 %v40, %v10
  %v179 = add i64 %v60, %v177
  %v180 = add i64 %v178, %v179
  %v181 = and i64 %v180, 281474976710655
  %v182 = or i64 %v181, 281474976710656
  ret i64 %v182
go174:
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v144, ptr align 4 %v146, <16 x i1> %v67)
  %v183 = add nsw i64 %v60, 16
  %v184 = icmp slt i64 %v183, %v10
  br i1 %v184, label %loop58, label %done58
done58:
  %v185 = add nsw i64 %v40, 1
  %v186 = icmp slt i64 %v185, %v8
  br i1 %v186, label %loop38, label %done38
done38:
  br label %join35
no35:
  %v188 = icmp slt i64 %v6, %v8
  br i1 %v188, label %loop187, label %done187
loop187:
  %v189 = phi i64 [ %v6, %no35 ], [ %v233, %done207 ]
  %v190 = mul i64 %v189, %v21
  %v191 = getelementptr i8, ptr %v4, i64 %v190
  %v192 = icmp ult i64 %v189, %v19
  %v193 = and i1 true, %v192
  %v194 = xor i1 %v193, true
  br i1 %v194, label %leave195, label %go195
leave195:
  %v196 = and i64 %v189, 281474976710655
  %v197 = or i64 %v196, 281474976710656
  ret i64 %v197
go195:
  %v198 = load i64, ptr %v191, align 8
  %v199 = mul i64 %v189, %v15
  %v200 = getelementptr i8, ptr %v3, i64 %v199
  %v201 = icmp ult i64 %v189, %v12
  %v202 = and i1 true, %v201
  %v203 = mul i64 %v198, %v27
  %v204 = getelementptr i8, ptr %v5, i64 %v203
  %v205 = icmp ult i64 %v198, %v23
  %v206 = and i1 true, %v205
  %v208 = icmp slt i64 0, %v10
  br i1 %v208, label %loop207, label %done207
loop207:
  %v209 = phi i64 [ 0, %go195 ], [ %v231, %go226 ]
  %v210 = mul i64 %v209, %v29
  %v211 = getelementptr i8, ptr %v204, i64 %v210
  %v212 = icmp ult i64 %v209, %v25
  %v213 = and i1 %v206, %v212
  %v214 = xor i1 %v213, true
  br i1 %v214, label %leave215, label %go215
leave215:
  %v216 = mul i64 %v189, %v10
  %v217 = add i64 %v216, %v209
  %v218 = and i64 %v217, 281474976710655
  %v219 = or i64 %v218, 281474976710656
  ret i64 %v219
go215:
  %v220 = load float, ptr %v211, align 4
  %v221 = mul i64 %v209, %v17
  %v222 = getelementptr i8, ptr %v200, i64 %v221
  %v223 = icmp ult i64 %v209, %v14
  %v224 = and i1 %v202, %v223
  %v225 = xor i1 %v224, true
  br i1 %v225, label %leave226, label %go226
leave226:
  %v227 = mul i64 %v189, %v10
  %v228 = add i64 %v227, %v209
  %v229 = and i64 %v228, 281474976710655
  %v230 = or i64 %v229, 281474976710656
  ret i64 %v230
go226:
  store float %v220, ptr %v222, align 4
  %v231 = add nsw i64 %v209, 1
  %v232 = icmp slt i64 %v231, %v10
  br i1 %v232, label %loop207, label %done207
done207:
  %v233 = add nsw i64 %v189, 1
  %v234 = icmp slt i64 %v233, %v8
  br i1 %v234, label %loop187, label %done187
done187:
  br label %join35
join35:
  ret i64 0
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

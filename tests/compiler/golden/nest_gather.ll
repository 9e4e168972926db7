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
  %v40 = phi i64 [ %v6, %yes35 ], [ %v164, %done58 ]
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
  %v60 = phi i64 [ 0, %go46 ], [ %v162, %go153 ]
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
  %v109 = icmp eq i64 %v37, 8
  br i1 %v109, label %yes110, label %no110
yes110:
  %v111 = shufflevector <16 x i1> %v67, <16 x i1> splat (i1 false), <16 x i32> <i32 0, i32 16, i32 1, i32 16, i32 2, i32 16, i32 3, i32 16, i32 4, i32 16, i32 5, i32 16, i32 6, i32 16, i32 7, i32 16>
  %v112 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v69, <16 x i1> %v111, <16 x float> splat (float 0x0000000000000000))
  %v113 = shufflevector <16 x i1> %v67, <16 x i1> splat (i1 false), <16 x i32> <i32 8, i32 16, i32 9, i32 16, i32 10, i32 16, i32 11, i32 16, i32 12, i32 16, i32 13, i32 16, i32 14, i32 16, i32 15, i32 16>
  %v114 = getelementptr i8, ptr %v69, i64 64
  %v115 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v114, <16 x i1> %v113, <16 x float> splat (float 0x0000000000000000))
  %v116 = shufflevector <16 x float> %v112, <16 x float> %v115, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30>
  br label %join110
no110:
  %v117 = insertelement <16 x i64> poison, i64 %v37, i64 0
  %v118 = shufflevector <16 x i64> %v117, <16 x i64> poison, <16 x i32> zeroinitializer
  %v119 = mul <16 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>, %v118
  %v120 = getelementptr i8, ptr %v69, <16 x i64> %v119
  %v121 = call <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr> align 4 %v120, <16 x i1> %v67, <16 x float> splat (float 0x0000000000000000))
  br label %join110
join110:
  %v122 = phi <16 x float> [ %v116, %yes110 ], [ %v121, %no110 ]
  br label %join107
join107:
  %v123 = phi <16 x float> [ %v108, %yes107 ], [ %v122, %join110 ]
  %v124 = mul i64 %v60, %v17
  %v125 = getelementptr i8, ptr %v51, i64 %v124
  %v126 = insertelement <16 x i1> poison, i1 %v53, i64 0
  %v127 = shufflevector <16 x i1> %v126, <16 x i1> poison, <16 x i32> zeroinitializer
  %v128 = sub i64 0, %v60
  %v129 = icmp sgt i64 %v128, 0
  %v130 = select i1 %v129, i64 %v128, i64 0
  %v131 = icmp slt i64 %v130, 16
  %v132 = select i1 %v131, i64 %v130, i64 16
  %v133 = trunc i64 %v132 to i32
  %v134 = insertelement <16 x i32> poison, i32 %v133, i64 0
  %v135 = shufflevector <16 x i32> %v134, <16 x i32> poison, <16 x i32> zeroinitializer
  %v136 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v135
  %v137 = sub i64 %v14, %v60
  %v138 = icmp sgt i64 %v137, 0
  %v139 = select i1 %v138, i64 %v137, i64 0
  %v140 = icmp slt i64 %v139, 16
  %v141 = select i1 %v140, i64 %v139, i64 16
  %v142 = trunc i64 %v141 to i32
  %v143 = insertelement <16 x i32> poison, i32 %v142, i64 0
  %v144 = shufflevector <16 x i32> %v143, <16 x i32> poison, <16 x i32> zeroinitializer
  %v145 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v144
  %v146 = xor <16 x i1> %v136, splat (i1 true)
  %v147 = and <16 x i1> %v145, %v146
  %v148 = and <16 x i1> %v127, %v147
  %v149 = xor <16 x i1> %v148, splat (i1 true)
  %v150 = and <16 x i1> %v149, %v67
  %v151 = bitcast <16 x i1> %v150 to i16
  %v152 = icmp ne i16 %v151, 0
  br i1 %v152, label %leave153, label %go153
leave153:
  %v154 = bitcast <16 x i1> %v150 to i16
  %v155 = zext i16 %v154 to i64
  %v156 = call i64 @llvm.cttz.i64(i64 %v155, i1 true)
  %v157 = mul i64 %v40, %v10
  %v158 = add i64 %v60, %v156
  %v159 = add i64 %v157, %v158
  %v160 = and i64 %v159, 281474976710655
  %v161 = or i64 %v160, 281474976710656
  ret i64 %v161
go153:
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v123, ptr align 4 %v125, <16 x i1> %v67)
  %v162 = add nsw i64 %v60, 16
  %v163 = icmp slt i64 %v162, %v10
  br i1 %v163, label %loop58, label %done58
done58:
  %v164 = add nsw i64 %v40, 1
  %v165 = icmp slt i64 %v164, %v8
  br i1 %v165, label %loop38, label %done38
done38:
  br label %join35
no35:
  %v167 = icmp slt i64 %v6, %v8
  br i1 %v167, label %loop166, label %done166
loop166:
  %v168 = phi i64 [ %v6, %no35 ], [ %v212, %done186 ]
  %v169 = mul i64 %v168, %v21
  %v170 = getelementptr i8, ptr %v4, i64 %v169
  %v171 = icmp ult i64 %v168, %v19
  %v172 = and i1 true, %v171
  %v173 = xor i1 %v172, true
  br i1 %v173, label %leave174, label %go174
leave174:
  %v175 = and i64 %v168, 281474976710655
  %v176 = or i64 %v175, 281474976710656
  ret i64 %v176
go174:
  %v177 = load i64, ptr %v170, align 8
  %v178 = mul i64 %v168, %v15
  %v179 = getelementptr i8, ptr %v3, i64 %v178
  %v180 = icmp ult i64 %v168, %v12
  %v181 = and i1 true, %v180
  %v182 = mul i64 %v177, %v27
  %v183 = getelementptr i8, ptr %v5, i64 %v182
  %v184 = icmp ult i64 %v177, %v23
  %v185 = and i1 true, %v184
  %v187 = icmp slt i64 0, %v10
  br i1 %v187, label %loop186, label %done186
loop186:
  %v188 = phi i64 [ 0, %go174 ], [ %v210, %go205 ]
  %v189 = mul i64 %v188, %v29
  %v190 = getelementptr i8, ptr %v183, i64 %v189
  %v191 = icmp ult i64 %v188, %v25
  %v192 = and i1 %v185, %v191
  %v193 = xor i1 %v192, true
  br i1 %v193, label %leave194, label %go194
leave194:
  %v195 = mul i64 %v168, %v10
  %v196 = add i64 %v195, %v188
  %v197 = and i64 %v196, 281474976710655
  %v198 = or i64 %v197, 281474976710656
  ret i64 %v198
go194:
  %v199 = load float, ptr %v190, align 4
  %v200 = mul i64 %v188, %v17
  %v201 = getelementptr i8, ptr %v179, i64 %v200
  %v202 = icmp ult i64 %v188, %v14
  %v203 = and i1 %v181, %v202
  %v204 = xor i1 %v203, true
  br i1 %v204, label %leave205, label %go205
leave205:
  %v206 = mul i64 %v168, %v10
  %v207 = add i64 %v206, %v188
  %v208 = and i64 %v207, 281474976710655
  %v209 = or i64 %v208, 281474976710656
  ret i64 %v209
go205:
  store float %v199, ptr %v201, align 4
  %v210 = add nsw i64 %v188, 1
  %v211 = icmp slt i64 %v210, %v10
  br i1 %v211, label %loop186, label %done186
done186:
  %v212 = add nsw i64 %v168, 1
  %v213 = icmp slt i64 %v212, %v8
  br i1 %v213, label %loop166, label %done166
done166:
  br label %join35
join35:
  ret i64 0
}

attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" "no-builtins" "no-jump-tables"="true" }

@problemName p
@timeStamps false
@univariate true
@classLabel true a b
@data
1,2.5,?:a
-1e2,3:b

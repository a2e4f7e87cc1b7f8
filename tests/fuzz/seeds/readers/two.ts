#r
@problemName p
@dimensions 2
@classLabel true
@data
1,2:3,4:a
5:6:b

#!/bin/sh
# qnnrt-run compare, capture and replay, seen from outside.
#     sh tests/test_compare.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_compare
. "$(dirname "$0")/tool.sh"
ref=$build/libQnnRef.so
htp=$release/libQnnHtp.so
old=$build/qnn/2.47/onnxruntime_qnn/libQnnHtp.so

# ---- two models, or one on two libraries ----

wrong no_model 'compare takes two models' compare
wrong one_model 'compare takes a second model' compare "$data/ctx/qairt2.51/mlp_u8" --backend_so "$ref"
hinted one_model '--other_backend_so'
wrong three 'compare takes two models, not 3' compare a b c
for value in x 1:code -1 nan 1e999 =1 'y=' 0.1:; do
    wrong "tolerance_$value" '--tolerance takes [NAME=]T[:abs|:codes]' compare a b --tolerance "$value"
done
wrong useless '--output_dir' compare a b --output_dir x

if [ -e "$htp" ]; then
    model=$data/ctx/qairt2.51/mlp_u8
    run compare "$model" "$data/ctx/qairt2.47/mlp_u8" --backend_so "$htp" --input "x=$model/x.raw"
    is htp_equal 0
    says htp_equal out '1 tensor compared, 0 beyond the tolerance'
    run compare "$data/llm/w8a16_one" "$data/llm/w8a16_four" --backend_so "$htp" --graph token_ar1_cl128
    is htp_shards 0
    says htp_shards out '9 tensors compared, 0 beyond the tolerance'
    if [ -e "$old" ]; then
        run compare "$data/ctx/qairt2.47/mlp_u8" --backend_so "$old" --other_backend_so "$htp" --input "x=$model/x.raw"
        is htp_releases 0
        says htp_releases out 'build v2.47'
        says htp_releases out 'build v2.51'
    else
        skip htp_releases "$old is missing"
    fi
else
    skip htp "$htp is missing"
fi

finish

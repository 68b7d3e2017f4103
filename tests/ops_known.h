/* ops_known.h - where Qualcomm's libraries differ from what an operator is documented to do, by name */
static const ops_known ops_knowns[] = {
{ "no-f16", "Cpu", OPS_REFUSED, 0xC26, "*", "*", "f16", "the CPU library has no float16 operators" }
};

"""The list of 250 models: what make exports exports, compiles and compares with torch.

A row names a model, how it is made, and its inputs. Weights are random, seeds fixed, sizes small. Nothing is downloaded.
An input is a tuple: ("ids", shape, count) for indices below count, ("image", shape), ("normal", shape, scale),
("uniform", shape), ("mask", shape, ones), ("causal", rows, columns), ("range", count), ("int", values), ("bool", shape),
("time", shape, limit). The rows of own modules are in own.py."""
import dataclasses
import os
import sys

import own
import torch
from torch import nn
from torch.nn import functional as F

torch.cuda.is_current_stream_capturing = lambda: False      # with stubs of the CUDA libraries the original crashes

# torchaudio lies in a folder of its own: transformers would import it, and it does not like torch's version of CUDA.
BESIDE = os.path.join(os.path.dirname(sys.prefix), "audio")


@dataclasses.dataclass
class Row:
    """A model of the list."""
    name: str
    library: str
    kind: str           # what the library calls it
    inputs: dict        # name -> input; the names 0, 1, ... are positions
    options: dict       # of the constructor or of the config
    keep: bool = False  # keep the initial values of the weights
    samples: int = 4    # 1 where other inputs than these may not fit
    ranges: dict = dataclasses.field(default_factory=dict)      # of inputs of integers, where the model asks for their values


ROWS = []


def row(library, name, kind, inputs, keep=False, samples=4, ranges=None, **options):
    ROWS.append(Row(name, library, kind, inputs, options, keep, samples, ranges or {}))


def ids(*shape, count=200):
    return ("ids", shape, count)


def image(pixels, channels=3, count=1):
    return ("image", (count, channels, pixels, pixels))


def normal(*shape, scale=1.0):
    return ("normal", shape, scale)


# ---- timm -----------------------------------------------------------------------------------------

def timm(kind, pixels=64, keep=False, **options):
    row("timm", "timm." + kind, kind, {"0": image(pixels)}, keep, **options)


VIT = dict(img_size=64, depth=2, embed_dim=96, num_heads=3)
for kind in ("resnet18", "resnetv2_50", "seresnet50", "ecaresnet26t", "resnest14d", "res2net50_26w_4s",
             "mobilenetv2_100", "mobilenetv3_large_100", "mobilenetv4_conv_small", "efficientnet_b0",
             "regnety_002", "repvgg_a0", "ghostnet_100", "mobileone_s0",
             "convnext_atto", "dla34", "hrnet_w18_small",
             "hgnetv2_b0", "lcnet_050",
             "lambda_resnet26t",
             "starnet_s1", "fasternet_t0", "inception_next_atto", "edgenext_xx_small", "poolformer_s12",
             "caformer_s18", "repvit_m0_9", "mambaout_femto"):
    timm(kind)
timm("inception_v3", 96)
timm("vgg11", mlp_ratio=0.125)
timm("focalnet_tiny_srf")
for kind in ("vit_tiny_patch16_224", "deit_tiny_distilled_patch16_224", "vit_relpos_small_patch16_224",
             "beit_base_patch16_224", "eva02_tiny_patch14_224", "cait_xxs24_224"):
    timm(kind, 56 if "14" in kind else 64, **dict(VIT, **({"img_size": 56} if "patch14" in kind else {})))
timm("vit_base_patch16_siglip_gap_224", **VIT)
timm("vit_small_patch14_dinov2", 56, **dict(VIT, img_size=56))
timm("swin_tiny_patch4_window7_224", 96, img_size=96, depths=(1, 1, 2, 1))
timm("swinv2_tiny_window8_256", 64, img_size=64, window_size=4, depths=(1, 1, 2, 1))
timm("mixer_s16_224", img_size=64)
timm("gmlp_s16_224", img_size=64)
timm("xcit_nano_12_p16_224", depth=2)
timm("coat_tiny", img_size=64, serial_depths=(1, 1, 1, 1), parallel_depth=1)
timm("convit_tiny", img_size=64, depth=12)
timm("davit_tiny", depths=(1, 1, 1, 1))
timm("efficientformer_l1", 224)
timm("efficientformerv2_s0", 224)
timm("efficientvit_b0")
timm("fastvit_t8")
timm("gcvit_xxtiny", 224)
timm("hiera_tiny_224", 224)
timm("levit_128s", 224)
timm("coatnet_pico_rw_224", 64, img_size=64)
timm("mobilevit_xxs")
timm("mvitv2_tiny", img_size=64)
timm("nest_tiny", 64, img_size=64)
timm("pit_ti_224", img_size=64)
timm("pvt_v2_b0")
timm("sequencer2d_s", img_size=64, layers=(1, 1, 1, 1))
timm("tiny_vit_5m_224", 224)
timm("volo_d1_224", img_size=64)
timm("swiftformer_xs", 224)

# ---- torchvision ----------------------------------------------------------------------------------


def vision(kind, inputs=None, keep=False, **options):
    row("torchvision", "torchvision." + kind, kind, inputs or {"0": image(64)}, keep, **options)


for kind in ("resnext50_32x4d", "mobilenet_v3_small", "shufflenet_v2_x0_5",
             "squeezenet1_1", "efficientnet_v2_s", "regnet_y_400mf", "convnext_tiny",
             "googlenet", "swin_t", "swin_v2_t", "alexnet"):
    vision(kind)
vision("inception_v3", {"0": image(96)})
vision("maxvit_t", {"0": image(224)})
vision("vit_b_16", image_size=64)
for kind in ("deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large", "fcn_resnet50"):
    vision(kind, weights_backbone=None)
vision("r3d_18", {"0": normal(1, 3, 4, 32, 32)})
vision("mc3_18", {"0": normal(1, 3, 4, 32, 32)})
vision("r2plus1d_18", {"0": normal(1, 3, 4, 32, 32)})
vision("swin3d_t", {"0": normal(1, 3, 4, 32, 32)})
vision("raft_small", {"image1": image(128), "image2": image(128), "num_flow_updates": ("value", 2)})
vision("ssdlite320_mobilenet_v3_large", {"0": ("list", ("uniform", (3, 320, 320)))}, weights_backbone=None)
vision("fasterrcnn_mobilenet_v3_large_320_fpn", {"0": ("list", ("uniform", (3, 96, 96)))}, weights_backbone=None)
vision("retinanet_resnet50_fpn", {"0": ("list", ("uniform", (3, 96, 96)))}, weights_backbone=None)

# ---- transformers ---------------------------------------------------------------------------------

SMALL = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, vocab_size=200,
             max_position_embeddings=64, use_cache=False)
TEXT = {"input_ids": ids(1, 16), "attention_mask": ("mask", (1, 16), 12)}
ONLY = {"input_ids": ids(1, 16)}


def hugging(name, kind, inputs=None, config=None, keep=False, parts=None, samples=4, **options):
    """config: the name of the class of the config, if it is not that of the model. parts: configs inside of the config."""
    row("transformers", "transformers." + name, kind, inputs or ONLY, keep, samples, config=config, parts=parts or {}, **options)


def encoder(name, kind, inputs=TEXT, **options):
    hugging(name, kind, inputs, **dict(SMALL, **options))


def decoder(name, kind, inputs=ONLY, **options):
    hugging(name, kind, inputs, **dict(SMALL, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                       **options) if "num_key_value_heads" not in options else
            dict(SMALL, pad_token_id=0, bos_token_id=1, eos_token_id=2, **options))


encoder("bert", "BertModel")
encoder("bert_eager", "BertModel", attn_implementation="eager")
encoder("bert_mlm", "BertForMaskedLM")
encoder("bert_classes", "BertForSequenceClassification", dict(TEXT, token_type_ids=("int", [[0] * 8 + [1] * 8])))
encoder("roberta", "RobertaModel", pad_token_id=1)
encoder("xlm_roberta_tokens", "XLMRobertaForTokenClassification", pad_token_id=1)
encoder("distilbert", "DistilBertModel", dim=64, hidden_dim=128, n_layers=2, n_heads=4)
encoder("albert", "AlbertModel", embedding_size=32)
encoder("electra", "ElectraModel", embedding_size=32)
encoder("mobilebert", "MobileBertModel", embedding_size=32, intra_bottleneck_size=32, hidden_size=64)
encoder("deberta", "DebertaModel", relative_attention=True, pos_att_type=["c2p", "p2c"])
encoder("deberta_v2", "DebertaV2Model", relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=16,
        share_att_key=True, norm_rel_ebd="layer_norm")
encoder("mpnet", "MPNetModel")
encoder("squeezebert", "SqueezeBertModel", embedding_size=64)
encoder("convbert", "ConvBertModel", embedding_size=64)
hugging("funnel", "FunnelModel", TEXT, block_sizes=[1, 1], d_model=64, n_head=4, d_head=16, d_inner=128, vocab_size=200)
encoder("fnet", "FNetModel", ONLY)
encoder("nystromformer", "NystromformerModel", num_landmarks=16, segment_means_seq_len=16)
encoder("roformer", "RoFormerModel", embedding_size=64)
encoder("rembert", "RemBertModel", input_embedding_size=32, output_embedding_size=32)
encoder("modernbert", "ModernBertModel", pad_token_id=0, global_attn_every_n_layers=2, local_attention=8)
encoder("longformer", "LongformerModel", attention_window=8, ranges={"attention_mask": (0, 1)})
encoder("big_bird", "BigBirdModel", attention_type="original_full")
encoder("canine", "CanineModel", {"input_ids": ids(1, 64, count=5000)}, num_hash_buckets=64, max_position_embeddings=128)
hugging("xlnet", "XLNetModel", TEXT, d_model=64, n_layer=2, n_head=4, d_inner=128, vocab_size=200, use_mems_eval=False)
encoder("xlm", "XLMModel", emb_dim=64, n_layers=2, n_heads=4)
encoder("esm", "EsmModel", pad_token_id=1, mask_token_id=32, position_embedding_type="rotary")
encoder("layoutlm", "LayoutLMModel", dict(TEXT, bbox=("int", [[[5, 8, 20, 30]] * 16])), max_2d_position_embeddings=128, samples=1)
encoder("luke", "LukeModel", entity_vocab_size=20)
encoder("nomic_bert", "NomicBertModel")
encoder("ibert", "IBertModel", pad_token_id=1)
encoder("perceiver", "PerceiverModel", {"inputs": normal(1, 16, 32)}, d_model=32, d_latents=32, num_latents=8,
        num_blocks=1, num_self_attends_per_block=2, num_self_attention_heads=4, num_cross_attention_heads=4)
encoder("reformer", "ReformerModel", {"input_ids": ids(1, 16)}, attention_head_size=16, attn_layers=["local", "lsh"], axial_pos_shape=[4, 4],
        axial_pos_embds_dim=[32, 32], feed_forward_size=128, num_buckets=2, local_attn_chunk_length=4, lsh_attn_chunk_length=4,
        is_decoder=False)

decoder("llama", "LlamaForCausalLM")
decoder("llama_eager", "LlamaForCausalLM", attn_implementation="eager")
decoder("llama_padded", "LlamaForCausalLM", {"input_ids": ids(1, 16), "attention_mask": ("left", (1, 16), 4)})
decoder("llama_caches", "LlamaForCausalLM", use_cache=True)
decoder("llama3_rope", "LlamaForCausalLM", rope_parameters=dict(rope_type="llama3", rope_theta=500000.0, factor=8.0,
        low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32))
decoder("llama_yarn", "LlamaForCausalLM", rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=4.0,
        original_max_position_embeddings=16))
decoder("qwen2", "Qwen2ForCausalLM")
decoder("qwen3", "Qwen3ForCausalLM", head_dim=16)
decoder("qwen3_yarn", "Qwen3ForCausalLM", head_dim=16, rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=4.0,
        original_max_position_embeddings=16))
decoder("mistral", "MistralForCausalLM", sliding_window=8)
decoder("mistral_padded", "MistralForCausalLM", {"input_ids": ids(1, 16), "attention_mask": ("left", (1, 16), 4)}, sliding_window=8)
decoder("mixtral", "MixtralForCausalLM", num_local_experts=4, experts_implementation="eager")
decoder("qwen2_moe", "Qwen2MoeForCausalLM", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
        shared_expert_intermediate_size=64)
decoder("qwen3_moe", "Qwen3MoeForCausalLM", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, head_dim=16)
decoder("gpt_oss", "GptOssForCausalLM", num_local_experts=4, num_experts_per_tok=2, head_dim=16)
decoder("phi", "PhiForCausalLM", partial_rotary_factor=0.5)
decoder("phi3", "Phi3ForCausalLM")
decoder("gemma", "GemmaForCausalLM", head_dim=16)
decoder("gemma2", "Gemma2ForCausalLM", head_dim=16, sliding_window=8)
decoder("gemma3", "Gemma3ForCausalLM", config="Gemma3TextConfig", head_dim=16, sliding_window=8)
decoder("cohere", "CohereForCausalLM")
decoder("cohere2", "Cohere2ForCausalLM", sliding_window=8)
decoder("granite", "GraniteForCausalLM")
decoder("olmo2", "Olmo2ForCausalLM")
decoder("stablelm", "StableLmForCausalLM")
decoder("starcoder2", "Starcoder2ForCausalLM")
decoder("smollm3", "SmolLM3ForCausalLM")
decoder("glm", "GlmForCausalLM", head_dim=16)
decoder("glm4", "Glm4ForCausalLM", head_dim=16)
decoder("helium", "HeliumForCausalLM", head_dim=16)
decoder("deepseek_v3", "DeepseekV3ForCausalLM", num_key_value_heads=4, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8,
        qk_nope_head_dim=8, v_head_dim=16, n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1,
        moe_intermediate_size=32, first_k_dense_replace=1)
decoder("falcon", "FalconForCausalLM", num_key_value_heads=1)
decoder("mpt", "MptForCausalLM", num_key_value_heads=4, d_model=64, n_heads=4, n_layers=2)
decoder("gpt2", "GPT2LMHeadModel", n_embd=64, n_layer=2, n_head=4, n_positions=64)
decoder("gpt_neo", "GPTNeoForCausalLM", num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=8)
decoder("gpt_neox", "GPTNeoXForCausalLM", num_key_value_heads=4)
decoder("gptj", "GPTJForCausalLM", n_embd=64, n_layer=2, n_head=4, rotary_dim=8, n_positions=64)
decoder("opt", "OPTForCausalLM", ffn_dim=128, word_embed_proj_dim=64)
decoder("bloom", "BloomForCausalLM", n_layer=2, n_head=4)
decoder("xglm", "XGLMForCausalLM", d_model=64, ffn_dim=128, num_layers=2, attention_heads=4)
decoder("mamba", "MambaForCausalLM", state_size=8, time_step_rank=4)
decoder("mamba2", "Mamba2ForCausalLM", state_size=8, num_heads=8, head_dim=16, n_groups=2, chunk_size=8)
decoder("recurrent_gemma", "RecurrentGemmaForCausalLM", num_hidden_layers=3, lru_width=64, attention_window_size=8)
decoder("rwkv", "RwkvForCausalLM", attention_hidden_size=64, context_length=32)
decoder("lfm2", "Lfm2ForCausalLM", layer_types=["conv", "full_attention"])
decoder("qwen3_next", "Qwen3NextForCausalLM", head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
        shared_expert_intermediate_size=32, linear_num_key_heads=2, linear_num_value_heads=2, linear_key_head_dim=16,
        linear_value_head_dim=16, layer_types=["linear_attention", "full_attention"])

BOTH = dict(input_ids=ids(1, 12), decoder_input_ids=ids(1, 6))
SEQ = dict(d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128,
           decoder_ffn_dim=128, vocab_size=200, max_position_embeddings=64, use_cache=False, pad_token_id=0, eos_token_id=2,
           bos_token_id=1, decoder_start_token_id=2, num_hidden_layers=2)
T5 = dict(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=200, use_cache=False, decoder_start_token_id=0)
hugging("t5", "T5Model", BOTH, keep=True, **T5)
hugging("t5_encoder", "T5EncoderModel", TEXT, keep=True, config="T5Config", **T5)
hugging("umt5", "UMT5Model", BOTH, keep=True, **T5)
hugging("switch", "SwitchTransformersModel", dict(BOTH, attention_mask=("mask", (1, 12), 12)), keep=True, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1, num_experts=2, **T5)
hugging("bart", "BartModel", BOTH, **SEQ)
hugging("marian", "MarianMTModel", BOTH, config="MarianConfig", **SEQ)
hugging("pegasus", "PegasusModel", BOTH, **SEQ)
hugging("m2m100", "M2M100Model", BOTH, **SEQ)
hugging("led", "LEDModel", BOTH, attention_window=4, max_encoder_position_embeddings=64, max_decoder_position_embeddings=64, **SEQ)
hugging("prophetnet", "ProphetNetModel", BOTH, num_encoder_layers=1, num_decoder_layers=1, num_encoder_attention_heads=4, num_decoder_attention_heads=4,
        ngram=2, num_buckets=8, relative_max_distance=16, **{k: v for k, v in dict(SEQ, hidden_size=64).items() if k != "num_hidden_layers" and not k.endswith("_layers")})

PIXELS = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, image_size=64, patch_size=16)


def picture(name, kind, pixels=64, inputs=None, **options):
    hugging(name, kind, inputs or {"pixel_values": image(pixels)}, **dict(PIXELS, **options))


STAGES = dict(hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1], num_hidden_layers=4)
picture("vit", "ViTModel")
picture("vit_eager", "ViTForImageClassification", attn_implementation="eager")
picture("deit", "DeiTModel")
picture("beit", "BeitModel")
hugging("swin", "SwinModel", {"pixel_values": image(64)}, image_size=64, embed_dim=24, depths=[1, 2], num_heads=[2, 4], patch_size=4, window_size=4)
hugging("swinv2", "Swinv2Model", {"pixel_values": image(64)}, image_size=64, embed_dim=24, depths=[1, 2], num_heads=[2, 4], patch_size=4, window_size=4)
hugging("convnext", "ConvNextModel", {"pixel_values": image(64)}, hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1])
picture("dinov2", "Dinov2Model")
picture("dinov3_vit", "DINOv3ViTModel", config="DINOv3ViTConfig")
picture("segformer", "SegformerForSemanticSegmentation", **dict(STAGES, num_attention_heads=[1, 2, 2, 4], sr_ratios=[8, 4, 2, 1], decoder_hidden_size=32,
        patch_sizes=[7, 3, 3, 3], patch_size=None))
picture("mobilevit", "MobileViTModel", hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 16, 16, 24, 32, 40, 64], patch_size=2)
hugging("cvt", "CvtModel", {"pixel_values": image(64)}, embed_dim=[16, 24, 48], depth=[1, 2, 3], num_heads=[1, 2, 4])
picture("levit", "LevitModel", 224, image_size=224, hidden_sizes=[32, 48, 64], depths=[1, 1, 1], num_attention_heads=[2, 3, 4], key_dim=[8, 8, 8],
        patch_size=16)
picture("vitdet", "VitDetModel", window_block_indices=[0], window_size=2, hidden_act="gelu")
picture("yolos", "YolosForObjectDetection", image_size=[64, 64], num_detection_tokens=5)
RESNET = dict(config="ResNetConfig", embedding_size=16, hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1], layer_type="basic",
              out_features=["stage4"])
DETR = dict(use_timm_backbone=False, backbone=None, use_pretrained_backbone=False, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_queries=8)
hugging("detr", "DetrForObjectDetection", {"pixel_values": image(64)}, parts={"backbone_config": RESNET}, **DETR)
hugging("conditional_detr", "ConditionalDetrForObjectDetection", {"pixel_values": image(64)}, parts={"backbone_config": RESNET}, **DETR)
hugging("deformable_detr", "DeformableDetrForObjectDetection", {"pixel_values": image(192)},
        parts={"backbone_config": dict(RESNET, out_features=["stage2", "stage3", "stage4"])}, num_feature_levels=4, **dict(DETR, decoder_layers=2))
hugging("rt_detr", "RTDetrForObjectDetection", {"pixel_values": image(64)}, parts={"backbone_config": dict(RESNET, config="RTDetrResNetConfig",
        out_features=["stage2", "stage3", "stage4"])}, encoder_hidden_dim=32, encoder_in_channels=[24, 32, 48],
        encoder_ffn_dim=64, decoder_ffn_dim=64, d_model=32, decoder_in_channels=[32, 32, 32], num_queries=8, decoder_layers=1, num_denoising=0,
        encoder_attention_heads=4, decoder_attention_heads=4, backbone=None)
picture("dpt", "DPTForDepthEstimation", num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[16, 24, 32, 32], fusion_hidden_size=16,
        reassemble_factors=[4, 2, 1, 0.5], is_hybrid=False)
picture("glpn", "GLPNForDepthEstimation", **dict(STAGES, num_attention_heads=[1, 2, 2, 4], sr_ratios=[8, 4, 2, 1], decoder_hidden_size=16, patch_sizes=[7, 3, 3, 3]))
hugging("swin2sr", "Swin2SRForImageSuperResolution", {"pixel_values": image(16)}, image_size=16, embed_dim=24, depths=[1, 1], num_heads=[2, 2], window_size=4, patch_size=1, upscale=2)
picture("superpoint", "SuperPointForKeypointDetection", 64)
picture("videomae", "VideoMAEModel", inputs={"pixel_values": normal(1, 4, 3, 64, 64)}, num_frames=4, tubelet_size=2)
picture("timesformer", "TimesformerModel", inputs={"pixel_values": normal(1, 2, 3, 64, 64)}, num_frames=2)
picture("sam_vision", "SamVisionModel", 64, output_channels=16, window_size=2, global_attn_indexes=[1], mlp_dim=128)

AUDIO = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, conv_dim=[16] * 7, num_feat_extract_layers=7,
             num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, vocab_size=32)
WAVE = {"input_values": normal(1, 4000)}
hugging("wav2vec2", "Wav2Vec2ForCTC", WAVE, **AUDIO)
hugging("hubert", "HubertModel", WAVE, **AUDIO)
hugging("wavlm", "WavLMModel", WAVE, **AUDIO)
hugging("unispeech_sat", "UniSpeechSatModel", WAVE, **AUDIO)
hugging("data2vec_audio", "Data2VecAudioModel", WAVE, **AUDIO)
hugging("wav2vec2_conformer", "Wav2Vec2ConformerModel", WAVE, **AUDIO)
hugging("sew", "SEWModel", WAVE, **dict(AUDIO, squeeze_factor=2, conv_dim=[16] * 13, num_feat_extract_layers=13, conv_stride=[5, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1],
        conv_kernel=[10, 3, 1, 3, 1, 3, 1, 3, 1, 2, 1, 2, 1]))
hugging("whisper", "WhisperModel", {"input_features": normal(1, 80, 64), "decoder_input_ids": ids(1, 6)},
        **dict(SEQ, max_source_positions=32, max_target_positions=32, num_mel_bins=80))
hugging("speech_to_text", "Speech2TextModel", {"input_features": normal(1, 64, 40), "decoder_input_ids": ids(1, 6)},
        **dict(SEQ, input_feat_per_channel=40, max_source_positions=64, max_target_positions=32, conv_channels=32))
hugging("ast", "ASTModel", {"input_values": normal(1, 64, 32)}, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=128, max_length=64, num_mel_bins=32, patch_size=8, time_stride=8, frequency_stride=8)
hugging("encodec", "EncodecModel", {"input_values": normal(1, 1, 1920)}, num_filters=8, hidden_size=32, codebook_size=64, upsampling_ratios=[4, 4, 2, 2],
        num_lstm_layers=1)
hugging("dac", "DacModel", {"input_values": normal(1, 1, 2048)}, encoder_hidden_size=8, downsampling_ratios=[2, 4], upsampling_ratios=[4, 2],
        decoder_hidden_size=32, n_codebooks=2, codebook_size=32, codebook_dim=4, hidden_size=32)
hugging("moonshine", "MoonshineModel", {"input_values": normal(1, 4000), "decoder_input_ids": ids(1, 6)}, hidden_size=64, intermediate_size=128,
        encoder_num_hidden_layers=2, decoder_num_hidden_layers=2, encoder_num_attention_heads=4, decoder_num_attention_heads=4, vocab_size=200, use_cache=False)
hugging("vits", "VitsModel", {"input_ids": ids(1, 12, count=30)}, vocab_size=38, hidden_size=32, num_hidden_layers=2, ffn_dim=64, flow_size=32)

TOWERS = {"text_config": dict(SMALL), "vision_config": dict(PIXELS)}
SEEN = dict(TEXT, pixel_values=image(64))
hugging("clip", "CLIPModel", SEEN, parts=TOWERS, projection_dim=32)
hugging("clip_text", "CLIPTextModel", TEXT, config="CLIPTextConfig", **SMALL)
hugging("clip_vision", "CLIPVisionModel", {"pixel_values": image(64)}, config="CLIPVisionConfig", **PIXELS)
hugging("siglip", "SiglipModel", {"input_ids": ids(1, 16), "pixel_values": image(64)}, parts=TOWERS)
hugging("blip", "BlipModel", SEEN, parts=TOWERS, projection_dim=32)
hugging("vilt", "ViltModel", SEEN, **dict(PIXELS, vocab_size=200, max_position_embeddings=64, max_image_length=-1))
hugging("owlvit", "OwlViTForObjectDetection", SEEN, parts=TOWERS, projection_dim=64)
hugging("llava", "LlavaForConditionalGeneration", {"input_ids": ("int", [[5, 7] + [199] * 16 + [9, 11]]), "pixel_values": image(64)},
        parts={"text_config": dict(SMALL, config="LlamaConfig", num_key_value_heads=2), "vision_config": dict(PIXELS, config="CLIPVisionConfig")},
        samples=1, image_token_index=199, image_token_id=199, vision_feature_layer=-1, use_cache=False)
hugging("patchtst", "PatchTSTForPrediction", {"past_values": normal(1, 32, 3)}, num_input_channels=3, context_length=32, patch_length=8, patch_stride=8,
        d_model=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=4, prediction_length=8, loss="mse")
hugging("patchtsmixer", "PatchTSMixerForPrediction", {"past_values": normal(1, 32, 3)}, num_input_channels=3, context_length=32, patch_length=8,
        patch_stride=8, d_model=16, num_layers=2, prediction_length=8)
hugging("decision_transformer", "DecisionTransformerModel", {"states": normal(1, 5, 17), "actions": normal(1, 5, 4), "rewards": normal(1, 5, 1),
        "returns_to_go": normal(1, 5, 1), "timesteps": ("int", [[0, 1, 2, 3, 4]]), "attention_mask": ("mask", (1, 5), 5)}, state_dim=17, act_dim=4, hidden_size=32, max_ep_len=32,
        n_layer=2, n_head=2)

# ---- torchaudio -----------------------------------------------------------------------------------


def audio(name, kind, inputs, **options):
    row("torchaudio", "torchaudio." + name, kind, inputs, **options)


audio("conformer", "Conformer", {"0": normal(1, 20, 32), "1": ("int", [20])}, input_dim=32, num_heads=4, ffn_dim=64, num_layers=2,
      depthwise_conv_kernel_size=7, ranges={"lengths": (20, 20)})
audio("conv_tasnet", "ConvTasNet", {"0": normal(1, 1, 800)}, enc_num_feats=32, msk_num_feats=16, msk_num_hidden_feats=32, msk_num_layers=3, msk_num_stacks=2)
audio("deepspeech", "DeepSpeech", {"0": normal(1, 1, 20, 32)}, n_feature=32, n_hidden=64)
audio("emformer", "Emformer", {"0": normal(1, 20, 32), "1": ("int", [16])}, input_dim=32, num_heads=4, ffn_dim=64, num_layers=2, segment_length=4,
      right_context_length=4)
audio("hdemucs", "HDemucs", {"0": normal(1, 2, 4096)}, sources=["a", "b"], channels=8, depth=3, nfft=256)
audio("wav2letter", "Wav2Letter", {"0": normal(1, 1, 2000)}, num_classes=29)
audio("wavernn", "WaveRNN", {"0": normal(1, 1, 128), "1": normal(1, 1, 20, 12)}, upsample_scales=[2, 2, 4], n_classes=16, hop_length=16, n_rnn=32, n_fc=32, n_freq=20,
      n_hidden=16, n_output=32, kernel_size=5)
audio("wav2vec2_base", "wav2vec2_model", {"0": normal(1, 2000)}, extractor_mode="group_norm", extractor_conv_layer_config=[[16, 10, 5], [16, 3, 2], [16, 2, 2]],
      extractor_conv_bias=False, encoder_embed_dim=32, encoder_projection_dropout=0.0, encoder_pos_conv_kernel=8, encoder_pos_conv_groups=4, encoder_num_layers=2,
      encoder_num_heads=4, encoder_attention_dropout=0.0, encoder_ff_interm_features=64, encoder_ff_interm_dropout=0.0, encoder_dropout=0.0, encoder_layer_norm_first=False,
      encoder_layer_drop=0.0, aux_num_out=None)
audio("squim_objective", "squim_objective_base", {"0": normal(1, 4000)})
audio("rnnt", "emformer_rnnt_base", {"0": normal(1, 24, 80), "1": ("int32", [24]), "2": ("ids32", (1, 4), 30), "3": ("int32", [4])}, num_symbols=30)
audio("melspectrogram", "transforms.MelSpectrogram", {"0": normal(1, 2000)}, n_fft=128, n_mels=16)
audio("mfcc", "transforms.MFCC", {"0": normal(1, 2000)}, n_mfcc=8, melkwargs=dict(n_fft=128, n_mels=16))

# ---- diffusers ------------------------------------------------------------------------------------


def diffusion(name, kind, inputs, **options):
    row("diffusers", "diffusers." + name, kind, inputs, **options)


STEP = ("time", (1,), 1000)
diffusion("unet2d", "UNet2DModel", {"sample": image(16), "timestep": STEP}, sample_size=16, block_out_channels=(16, 32), norm_num_groups=8, layers_per_block=1,
          down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8)
diffusion("unet2d_condition", "UNet2DConditionModel", {"sample": image(16, 4), "timestep": STEP, "encoder_hidden_states": normal(1, 8, 32)}, sample_size=16,
          block_out_channels=(16, 32), norm_num_groups=8, layers_per_block=1, cross_attention_dim=32, attention_head_dim=4,
          down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
diffusion("unet1d", "UNet1DModel", {"sample": normal(1, 14, 16), "timestep": STEP}, block_out_channels=(16, 32, 32), in_channels=14, out_channels=14, time_embedding_type="positional",
          down_block_types=("DownResnetBlock1D", "DownResnetBlock1D", "DownResnetBlock1D"), up_block_types=("UpResnetBlock1D", "UpResnetBlock1D"), mid_block_type="MidResTemporalBlock1D",
          out_block_type="OutConv1DBlock", use_timestep_embedding=True, act_fn="mish", norm_num_groups=8, flip_sin_to_cos=False, freq_shift=1, extra_in_channels=0, layers_per_block=1)
diffusion("unet3d", "UNet3DConditionModel", {"sample": normal(1, 4, 4, 16, 16), "timestep": STEP, "encoder_hidden_states": normal(1, 8, 32)}, sample_size=16, block_out_channels=(32, 32),
          norm_num_groups=8, layers_per_block=1, cross_attention_dim=32, attention_head_dim=8, down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"), up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"))
diffusion("autoencoder_kl", "AutoencoderKL", {"sample": image(16)}, block_out_channels=(16, 32), norm_num_groups=8, latent_channels=4,
          down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)
diffusion("autoencoder_tiny", "AutoencoderTiny", {"sample": image(32)}, encoder_block_out_channels=(16, 16), decoder_block_out_channels=(16, 16), num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1))
diffusion("vq", "VQModel", {"sample": image(16)}, block_out_channels=(16, 32), norm_num_groups=8, latent_channels=3, num_vq_embeddings=16,
          down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)
diffusion("controlnet", "ControlNetModel", {"sample": image(16, 4), "timestep": STEP, "encoder_hidden_states": normal(1, 8, 32), "controlnet_cond": image(32)}, block_out_channels=(16, 32),
          norm_num_groups=8, layers_per_block=1, cross_attention_dim=32, attention_head_dim=4, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), conditioning_embedding_out_channels=(8, 16))
diffusion("dit", "DiTTransformer2DModel", {"hidden_states": image(16, 4), "timestep": STEP, "class_labels": ("int", [3])}, num_attention_heads=2, attention_head_dim=16, in_channels=4, out_channels=8,
          num_layers=2, sample_size=16, patch_size=2, norm_num_groups=8, num_embeds_ada_norm=10)
diffusion("pixart", "PixArtTransformer2DModel", {"hidden_states": image(16, 4), "encoder_hidden_states": normal(1, 8, 32), "timestep": STEP, "added_cond_kwargs": ("value", {"resolution": None, "aspect_ratio": None})},
          num_attention_heads=2, attention_head_dim=16, num_layers=2, sample_size=16, patch_size=2, caption_channels=32, cross_attention_dim=32, norm_num_groups=8, use_additional_conditions=False)
diffusion("sd3", "SD3Transformer2DModel", {"hidden_states": image(16, 4), "encoder_hidden_states": normal(1, 8, 32), "pooled_projections": normal(1, 32), "timestep": STEP}, sample_size=16, patch_size=2,
          in_channels=4, num_layers=2, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32, caption_projection_dim=32, pooled_projection_dim=32, out_channels=4, pos_embed_max_size=16)
diffusion("flux", "FluxTransformer2DModel", {"hidden_states": normal(1, 16, 16), "encoder_hidden_states": normal(1, 8, 32), "pooled_projections": normal(1, 32), "timestep": ("uniform", (1,)),
          "img_ids": ("grid", (4, 4)), "txt_ids": ("zeros", (8, 3))}, patch_size=1, in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2,
          joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=(4, 4, 8))
diffusion("prior", "PriorTransformer", {"hidden_states": normal(1, 32), "timestep": STEP, "proj_embedding": normal(1, 32), "encoder_hidden_states": normal(1, 8, 32)}, num_attention_heads=2,
          attention_head_dim=16, num_layers=2, embedding_dim=32, num_embeddings=8, additional_embeddings=4)
diffusion("t2i_adapter", "T2IAdapter", {"0": image(64)}, channels=[16, 24], num_res_blocks=1, downscale_factor=8)
diffusion("sana", "SanaTransformer2DModel", {"hidden_states": image(16, 4), "encoder_hidden_states": normal(1, 8, 32), "timestep": STEP}, in_channels=4, out_channels=4, num_attention_heads=2,
          attention_head_dim=16, num_layers=2, num_cross_attention_heads=2, cross_attention_head_dim=16, cross_attention_dim=32, caption_channels=32, sample_size=16)
diffusion("autoencoder_dc", "AutoencoderDC", {"sample": image(32)}, latent_channels=4, attention_head_dim=4, encoder_block_types=("ResBlock", "EfficientViTBlock"),
          decoder_block_types=("ResBlock", "EfficientViTBlock"), encoder_block_out_channels=(8, 16), decoder_block_out_channels=(8, 16), encoder_qkv_multiscales=((), (5,)), decoder_qkv_multiscales=((), (5,)),
          encoder_layers_per_block=(1, 1), decoder_layers_per_block=(1, 1), downsample_block_type="conv", upsample_block_type="interpolate", decoder_norm_types="rms_norm", decoder_act_fns="silu", scaling_factor=0.4)

# ---- own ------------------------------------------------------------------------------------------

for name, kind, inputs, options in own.ROWS:
    row("own", "own." + name, kind, inputs, **options)

# Rows beside the 250, which run_list.py --more takes too: models that no result of the list has shaped.
MORE = {"timm." + n for n in """seresnet50 ecaresnet26t mobilenetv4_conv_small regnety_002 lcnet_050 starnet_s1 hgnetv2_b0 caformer_s18
        vit_relpos_small_patch16_224 beit_base_patch16_224 davit_tiny gcvit_xxtiny""".split()}
MORE |= {"torchvision." + n for n in "shufflenet_v2_x0_5 mc3_18 convnext_tiny".split()}
MORE |= {"transformers." + n for n in """roberta xlm_roberta_tokens electra rembert ibert vit_eager deit helium glm4 starcoder2 granite olmo2
         pegasus m2m100 unispeech_sat data2vec_audio conditional_detr glpn clip_vision llama_eager stablelm luke umt5 xglm bert_mlm
         qwen2_moe gemma sew siglip squeezebert nomic_bert hubert""".split()}
MORE |= {"torchaudio." + n for n in "mfcc wav2letter".split()}
MORE |= {"diffusers." + n for n in "t2i_adapter pixart".split()}
MORE |= {"own." + n for n in "rnn gru encoder_first dcgan siren vae".split()}


# ---- making them ----------------------------------------------------------------------------------

def tensor(spec):
    """Return the value of an input: see the beginning."""
    kind, shape, *rest = spec
    if kind == "value":
        return shape
    if kind == "list":
        return [tensor(s) for s in spec[1:]]
    if kind == "image":                                     # large spots and some noise: models that average see something
        spots = F.interpolate(torch.randn(shape[0], shape[1], 4, 4), shape[2:], mode="bilinear")
        return 1.5 * spots + 0.5 * torch.randn(shape)
    if kind in ("ids", "ids32"):
        return torch.randint(0, rest[0], shape, dtype=torch.int64 if kind == "ids" else torch.int32)
    if kind in ("int", "int32"):
        return torch.tensor(shape, dtype=torch.int64 if kind == "int" else torch.int32)
    if kind == "normal":
        return torch.randn(shape) * rest[0]
    if kind == "uniform":
        return torch.rand(shape)
    if kind == "zeros":
        return torch.zeros(shape)
    if kind == "mask":                                      # ones, then zeros
        return (torch.arange(shape[1]) < rest[0]).long().expand(shape).contiguous()
    if kind == "left":                                      # zeros, then ones
        return (torch.arange(shape[1]) >= rest[0]).long().expand(shape).contiguous()
    if kind == "time":
        return torch.randint(0, rest[0], shape).float()
    if kind == "float":
        return torch.tensor(shape)
    if kind == "bytes":
        return torch.randint(0, 256, shape, dtype=torch.uint8)
    if kind == "dict":
        return {k: tensor(v) for k, v in shape.items()}
    if kind == "falses":                                    # falses, then trues
        return (torch.arange(shape[1]) >= rest[0]).expand(shape).contiguous()
    if kind == "rows":                                      # bool: rows that see something, then rows that see nothing
        return (torch.rand(shape) < 0.8) & (torch.arange(shape[1]) < rest[0])[:, None]
    if kind == "causal":                                    # an additive mask
        return torch.zeros(1, 1, shape, rest[0]).masked_fill(torch.ones(shape, rest[0]).triu(rest[0] - shape + 1).bool(), -10000.0)
    if kind == "range":
        return torch.arange(*rest, dtype=torch.int64).reshape(shape)
    if kind == "grid":
        a, b = torch.meshgrid(torch.arange(shape[0]), torch.arange(shape[1]), indexing="ij")
        return torch.stack([torch.zeros_like(a), a, b], -1).reshape(-1, 3).float()
    raise ValueError("unknown input " + kind)


def config_of(kind, options):
    """Return the config of a model of transformers. Configs inside of it are made first."""
    import transformers
    options = dict(options)
    name, parts = options.pop("config", None), options.pop("parts", {})
    if name is None:
        model = getattr(transformers, kind)
        cls = model.config_class
    else:
        cls = getattr(transformers, name)
    for key, part in parts.items():
        part = dict(part)
        inner = part.pop("config", None)
        options[key] = getattr(transformers, inner)(**part) if inner else part
    return cls(**options)


def make(entry):
    """Return the model of a row."""
    options = dict(entry.options)
    if entry.library == "timm":
        import timm
        return timm.create_model(entry.kind, **options)
    if entry.library == "torchvision":
        import torchvision
        return torchvision.models.get_model(entry.kind, weights=None, **options)
    if entry.library == "transformers":
        import transformers
        return getattr(transformers, entry.kind)(config_of(entry.kind, options))
    if entry.library == "torchaudio":
        cuda, torch.version.cuda = torch.version.cuda, None     # it compares versions of CUDA, which nothing uses
        sys.path.append(BESIDE)
        import torchaudio
        torch.version.cuda = cuda
        place = torchaudio if "." in entry.kind else torchaudio.models
        for part in entry.kind.split("."):
            place = getattr(place, part)
        return place(**options)
    if entry.library == "diffusers":
        import diffusers
        return getattr(diffusers, entry.kind)(**options)
    return getattr(own, entry.kind)(**options)


NORMS = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm)


@torch.no_grad()
def randomize(model, args, kwargs):
    """Give every parameter values that matter, and the batch norms statistics that fit."""
    for module in model.modules():
        norm = isinstance(module, NORMS) or type(module).__name__.endswith("Norm")
        for name, p in module.named_parameters(recurse=False):
            if not p.is_floating_point():
                continue
            if norm or any(word in name for word in ("gamma", "scale", "norm")) or name in ("ls1", "ls2"):
                if "bias" in name:
                    p.normal_(0, 0.1)
                else:
                    p.uniform_(*((0.5, 1.5) if norm or "norm" in name else (0.2, 0.6)))
            elif "bias" in name:
                p.normal_(0, 0.1)
            elif isinstance(module, nn.Linear):
                p.normal_(0, p.shape[1] ** -0.5)
            elif isinstance(module, nn.Embedding):
                p.normal_(0, 0.5)
            elif p.ndim >= 2 and not p.any():      # class tokens and positions begin as zeros
                p.normal_(0, 0.5)
    hooks = [m.register_forward_pre_hook(measure) for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    if hooks:
        model(*args, **kwargs)
        for hook in hooks:
            hook.remove()


def measure(norm, arguments):
    """Set the statistics of a batch norm, before it runs, from the mean square of its input.

    Statistics of each channel, as training with random weights leaves them, make deep networks amplify every rounding:
    torch's own float16 then differs from float64 by 0.1 (inception_v3) and 0.2 (mobileone_s0), here by 0.002."""
    power = max(float(arguments[0].square().mean()), 1e-6)
    norm.running_mean.normal_(0, 0.1 * power ** 0.5)
    norm.running_var.uniform_(0.7 * power, 1.4 * power)


def build(entry):
    """Return the model of a row, with its weights, and its inputs: positional and by name."""
    seed = sum(map(ord, entry.name))
    torch.manual_seed(seed)
    model = make(entry).float().eval()
    torch.manual_seed(seed + 1)
    args = [tensor(spec) for name, spec in entry.inputs.items() if name.isdigit()]
    kwargs = {name: tensor(spec) for name, spec in entry.inputs.items() if not name.isdigit()}
    if not entry.keep:
        randomize(model, args, kwargs)
    return model, tuple(args), kwargs

"""stable-diffusion.cpp's C API by ctypes: the structures of include/stable-diffusion.h (of the version that setup.sh pins)."""

import ctypes as c
import os

from exporting import cache

Text, Flag, Int, Unsigned, Float = c.c_char_p, c.c_bool, c.c_int, c.c_uint32, c.c_float


class ContextParameters(c.Structure):
    _fields_ = [(name, Text) for name in (
        "model_path", "clip_l_path", "clip_g_path", "clip_vision_path", "t5xxl_path", "llm_path", "llm_vision_path", "diffusion_model_path",
        "high_noise_diffusion_model_path", "vae_path", "taesd_path", "control_net_path")] + [
        ("embeddings", c.c_void_p), ("embedding_count", Unsigned), ("photo_maker_path", Text), ("tensor_type_rules", Text),
        ("vae_decode_only", Flag), ("free_params_immediately", Flag), ("n_threads", Int), ("wtype", Int), ("rng_type", Int),
        ("sampler_rng_type", Int), ("prediction", Int), ("lora_apply_mode", Int)] + [(name, Flag) for name in (
            "offload_params_to_cpu", "enable_mmap", "keep_clip_on_cpu", "keep_control_net_on_cpu", "keep_vae_on_cpu", "flash_attn",
            "diffusion_flash_attn", "tae_preview_only", "diffusion_conv_direct", "vae_conv_direct", "circular_x", "circular_y",
            "force_sdxl_vae_conv_scale", "chroma_use_dit_mask", "chroma_use_t5_mask")] + [
        ("chroma_t5_mask_pad", Int), ("qwen_image_zero_cond_t", Flag), ("max_vram", Float)]  # fmt: skip


class Image(c.Structure):
    _fields_ = [("width", Unsigned), ("height", Unsigned), ("channel", Unsigned), ("data", c.POINTER(c.c_uint8))]


class Layers(c.Structure):
    _fields_ = [("layers", c.POINTER(Int)), ("layer_count", c.c_size_t), ("layer_start", Float), ("layer_end", Float), ("scale", Float)]


class Guidance(c.Structure):
    _fields_ = [("txt_cfg", Float), ("img_cfg", Float), ("distilled_guidance", Float), ("slg", Layers)]


class Sampling(c.Structure):
    _fields_ = [("guidance", Guidance), ("scheduler", Int), ("sample_method", Int), ("sample_steps", Int), ("eta", Float),
                ("shifted_timestep", Int), ("custom_sigmas", c.POINTER(Float)), ("custom_sigmas_count", Int), ("flow_shift", Float)]  # fmt: skip


class PhotoMaker(c.Structure):
    _fields_ = [("id_images", c.POINTER(Image)), ("id_images_count", Int), ("id_embed_path", Text), ("style_strength", Float)]


class Tiling(c.Structure):
    _fields_ = [("enabled", Flag), ("tile_size_x", Int), ("tile_size_y", Int), ("target_overlap", Float), ("rel_size_x", Float), ("rel_size_y", Float)]


class Cache(c.Structure):
    _fields_ = [("mode", Int)] + [(name, Float) for name in ("reuse_threshold", "start_percent", "end_percent", "error_decay_rate")] + [
        ("use_relative_threshold", Flag), ("reset_error_on_compute", Flag), ("Fn_compute_blocks", Int), ("Bn_compute_blocks", Int),
        ("residual_diff_threshold", Float), ("max_warmup_steps", Int), ("max_cached_steps", Int), ("max_continuous_cached_steps", Int),
        ("taylorseer_n_derivatives", Int), ("taylorseer_skip_interval", Int), ("scm_mask", Text), ("scm_policy_dynamic", Flag),
        ("spectrum_w", Float), ("spectrum_m", Int), ("spectrum_lam", Float), ("spectrum_window_size", Int), ("spectrum_flex_window", Float),
        ("spectrum_warmup_steps", Int), ("spectrum_stop_percent", Float)]  # fmt: skip


class HiRes(c.Structure):
    _fields_ = [("enabled", Flag), ("upscaler", Int), ("model_path", Text), ("scale", Float), ("target_width", Int), ("target_height", Int),
                ("steps", Int), ("denoising_strength", Float), ("upscale_tile_size", Int)]  # fmt: skip


class ImageParameters(c.Structure):
    _fields_ = [
        ("loras", c.c_void_p), ("lora_count", Unsigned), ("prompt", Text), ("negative_prompt", Text), ("clip_skip", Int), ("init_image", Image),
        ("ref_images", c.POINTER(Image)), ("ref_images_count", Int), ("auto_resize_ref_image", Flag), ("increase_ref_index", Flag),
        ("mask_image", Image), ("width", Int), ("height", Int), ("sample_params", Sampling), ("strength", Float), ("seed", c.c_int64),
        ("batch_count", Int), ("control_image", Image), ("control_strength", Float), ("pm_params", PhotoMaker), ("vae_tiling_params", Tiling),
        ("cache", Cache), ("hires", HiRes),
    ]  # fmt: skip


LogCall = c.CFUNCTYPE(None, Int, Text, c.c_void_p)
ProgressCall = c.CFUNCTYPE(None, Int, Int, Float, c.c_void_p)
PreviewCall = c.CFUNCTYPE(None, Int, Int, c.POINTER(Image), Flag, c.c_void_p)
TYPE_F32, TYPE_F16, TYPE_Q8_0, TYPE_OF_FILE = 0, 1, 8, 41
CPU_RNG, CUDA_RNG = 2, 1
PREVIEW_NONE, PREVIEW_VAE = 0, 3


def library():
    """libstable-diffusion, built by setup.sh sdcpp; SDCPP_LIBRARY names another one."""
    path = os.environ.get("SDCPP_LIBRARY")
    if not path:
        folder = os.path.join(cache(), "lib")
        path = next((p for p in (f"{folder}/libstable-diffusion.so", f"{folder}/libstable-diffusion.dylib") if os.path.exists(p)), None)
    if not path:
        raise OSError("libstable-diffusion isn't there; run scripts/adapters/setup.sh sdcpp")
    lib = c.CDLL(path)
    lib.new_sd_ctx.restype, lib.new_sd_ctx.argtypes = c.c_void_p, [c.POINTER(ContextParameters)]
    lib.free_sd_ctx.argtypes = [c.c_void_p]
    lib.generate_image.restype, lib.generate_image.argtypes = c.POINTER(Image), [c.c_void_p, c.POINTER(ImageParameters)]
    lib.sd_set_log_callback.argtypes = [LogCall, c.c_void_p]
    lib.sd_set_progress_callback.argtypes = [ProgressCall, c.c_void_p]
    lib.sd_set_preview_callback.argtypes = [PreviewCall, Int, Int, Flag, Flag, c.c_void_p]
    for name in ("str_to_sample_method", "str_to_scheduler", "str_to_prediction"):
        getattr(lib, name).argtypes = [Text]
    for name in ("sd_version", "sd_commit", "sd_get_system_info"):
        getattr(lib, name).restype = Text
    return lib

// Draws characters in the plane: each vertex goes with up to four bones, whose motions are texels of the
// palette. See `palette.rs` for what is where in it.

#import bevy_sprite::{
    mesh2d_functions as mesh_functions,
    mesh2d_view_bindings::view,
}

#ifdef TONEMAP_IN_SHADER
#import bevy_core_pipeline::tonemapping
#endif
#ifdef SRGB_OUTPUT
#import bevy_render::color_operations::linear_to_srgb
#endif
#ifdef OKLAB_OUTPUT
#import bevy_render::color_operations::linear_rgb_to_oklab
#endif

@group(#{MATERIAL_BIND_GROUP}) @binding(0) var texture: texture_2d<f32>;
@group(#{MATERIAL_BIND_GROUP}) @binding(1) var texture_sampler: sampler;
@group(#{MATERIAL_BIND_GROUP}) @binding(2) var palette: texture_2d<f32>;

struct Vertex {
    @builtin(instance_index) instance_index: u32,
    @location(0) position: vec3<f32>,
    @location(1) uv: vec2<f32>,
    @location(2) joints: vec4<u32>,
    @location(3) weights: vec4<f32>,
};

struct VertexOutput {
    @builtin(position) position: vec4<f32>,
    @location(0) uv: vec2<f32>,
    @location(1) @interpolate(flat) tint: vec4<f32>,
};

fn texel(index: u32) -> vec4<f32> {
    let columns = textureDimensions(palette).x;
    return textureLoad(palette, vec2<u32>(index % columns, index / columns), 0);
}

// What a bone adds to where a point goes. Its motion is (cos, sin, x, y).
fn influence(index: u32, weight: f32, point: vec2<f32>) -> vec2<f32> {
    let bone = texel(index);
    let turned = vec2<f32>(
        bone.x * point.x - bone.y * point.y,
        bone.y * point.x + bone.x * point.y,
    );
    return weight * (turned + bone.zw);
}

@vertex
fn vertex(vertex: Vertex) -> VertexOutput {
    let first = mesh_functions::get_tag(vertex.instance_index);
    let place = texel(first + 1u);
    let point = vertex.position.xy * place.zw;
    // Bones are relative to the character's own origin, so that little is lost far from the world's.
    let bones = vertex.joints + (first + 2u);
    let at = influence(bones.x, vertex.weights.x, point)
        + influence(bones.y, vertex.weights.y, point)
        + influence(bones.z, vertex.weights.z, point)
        + influence(bones.w, vertex.weights.w, point);
    let height = mesh_functions::get_world_from_local(vertex.instance_index)[3].z;
    var out: VertexOutput;
    out.position = mesh_functions::mesh2d_position_world_to_clip(
        vec4<f32>(at + place.xy, height, 1.0),
    );
    out.uv = vertex.uv;
    out.tint = texel(first);
    return out;
}

@fragment
fn fragment(in: VertexOutput) -> @location(0) vec4<f32> {
    var color = in.tint * textureSample(texture, texture_sampler, in.uv);
#ifdef TONEMAP_IN_SHADER
    color = tonemapping::tone_mapping(color, view.color_grading);
#endif
#ifdef SRGB_OUTPUT
    color = vec4(linear_to_srgb(color.rgb), color.a);
#endif
#ifdef OKLAB_OUTPUT
    color = vec4(linear_rgb_to_oklab(color.rgb), color.a);
#endif
    return color;
}

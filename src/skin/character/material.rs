//! How a character is drawn by the GPU.

use bevy::{
    asset::{embedded_asset, embedded_path},
    mesh::{MeshVertexAttribute, MeshVertexBufferLayoutRef, VertexFormat},
    prelude::*,
    render::{
        RenderApp,
        render_resource::{AsBindGroup, RenderPipelineDescriptor, SpecializedMeshPipelineError},
    },
    shader::ShaderRef,
    sprite_render::{AlphaMode2d, Material2d, Material2dKey, Material2dPlugin, Mesh2dRenderPlugin},
};

/// The bones that move a vertex, by the order of the bones.
pub const ATTRIBUTE_BONES: MeshVertexAttribute =
    MeshVertexAttribute::new("Pliant_Bones", 0x706c_6961_6e74_0001, VertexFormat::Uint16x4);
/// How much each of them does; of sum 1.
pub const ATTRIBUTE_BONE_WEIGHTS: MeshVertexAttribute =
    MeshVertexAttribute::new("Pliant_BoneWeights", 0x706c_6961_6e74_0002, VertexFormat::Float32x4);

/// Draws characters of one texture. Made and kept by [`SkinPlugin`](crate::skin::SkinPlugin): what
/// characters have of their own (poses, tints) is in the palette, so that many share one material and are
/// drawn together.
#[derive(Asset, AsBindGroup, TypePath, Clone, Debug)]
pub struct CharacterMaterial {
    /// The picture.
    #[texture(0)]
    #[sampler(1)]
    pub texture: Handle<Image>,
    /// Tints and poses.
    #[texture(2, sample_type = "float", filterable = false, visibility(vertex))]
    pub palette: Handle<Image>,
}

impl Material2d for CharacterMaterial {
    fn vertex_shader() -> ShaderRef {
        shader()
    }

    fn fragment_shader() -> ShaderRef {
        shader()
    }

    fn alpha_mode(&self) -> AlphaMode2d {
        // As sprites are.
        AlphaMode2d::Blend
    }

    fn specialize(
        descriptor: &mut RenderPipelineDescriptor,
        layout: &MeshVertexBufferLayoutRef,
        _key: Material2dKey<Self>,
    ) -> Result<(), SpecializedMeshPipelineError> {
        descriptor.vertex.buffers = vec![layout.0.get_layout(&[
            Mesh::ATTRIBUTE_POSITION.at_shader_location(0),
            Mesh::ATTRIBUTE_UV_0.at_shader_location(1),
            ATTRIBUTE_BONES.at_shader_location(2),
            ATTRIBUTE_BONE_WEIGHTS.at_shader_location(3),
        ])?];
        Ok(())
    }
}

fn shader() -> ShaderRef {
    let path = bevy::asset::AssetPath::from_path_buf(embedded_path!("character.wgsl"));
    ShaderRef::Path(path.with_source("embedded"))
}

/// Adds the material, if the app draws in the plane and does not have it yet.
pub fn add_material(app: &mut App) {
    let draws = app.get_sub_app(RenderApp).is_some() && app.is_plugin_added::<Mesh2dRenderPlugin>();
    if draws && !app.is_plugin_added::<Material2dPlugin<CharacterMaterial>>() {
        embedded_asset!(app, "character.wgsl");
        app.add_plugins(Material2dPlugin::<CharacterMaterial>::default());
    }
}

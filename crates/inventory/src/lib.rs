//! Machines, modules, manifests, builds and declarations.

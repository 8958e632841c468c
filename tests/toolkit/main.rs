//! The toolkit, the host's own tools and the providers' schemas, through the exports, as a C program uses them.

mod exports;
mod host_tools;
mod lists;
mod lives;

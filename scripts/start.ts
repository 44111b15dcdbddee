import "./build";

// After the build, since the server imports what it generates.
await import("../server");

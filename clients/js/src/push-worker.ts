import { handlePushes } from "./service-worker.js";

// A service worker by itself, for an app that has no other. The build bundles it to one classic script.
handlePushes();

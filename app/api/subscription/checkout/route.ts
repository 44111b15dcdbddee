import { retiredEndpoint } from "@/lib/platform/http/retired-endpoint";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/subscription/checkout",
  retiredEndpoint("Checkout", "/api/subscription/status"),
);

import { retired } from "@/scripts/openapi/retired";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = retired("Checkout", "/api/subscription/status");

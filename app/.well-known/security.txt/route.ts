import { defineRoute } from "@/lib/platform/http/route";
import { securityTxtOperations } from "@/lib/platform/http/security-txt";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/.well-known/security.txt", {
  GET: securityTxtOperations.getSecurityTxt,
});

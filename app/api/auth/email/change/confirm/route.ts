import { emailChangeOperations } from "@/lib/accounts/email-change/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/email/change/confirm", {
  POST: emailChangeOperations.confirmEmailChange,
});

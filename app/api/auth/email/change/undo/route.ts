import { emailChangeOperations } from "@/lib/accounts/email-change/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/email/change/undo", {
  POST: emailChangeOperations.undoEmailChange,
});

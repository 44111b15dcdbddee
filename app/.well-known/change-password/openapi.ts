import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "redirectToChangePassword",
  description:
    "Password managers open this URL to change a password (W3C, A Well-Known URL for Changing Passwords). The page asks a visitor without a session to sign in first.",
  responses: { 302: { description: "`Location` is the page.", headers: ["Location"] } },
};

import type { OperationDetails } from "@/scripts/openapi/operation";

export const DELETE: OperationDetails = {
  operationId: "unlinkIdentity",
  description:
    "Unlinks a provider, ends all other sessions, which the provider may have created, and emails the owner. Requires a recent authentication: on `reauthentication_required`, call `POST /api/auth/reauthenticate` and repeat the request. The last way to sign in cannot be removed. The provider of another account returns 404, as an unknown one does.",
  responses: { 204: { description: "The provider can no longer sign in to the account." } },
};

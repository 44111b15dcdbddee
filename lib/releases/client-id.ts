import { AppError } from "../errors";
import { ClientId } from "./http-schema";

/**
 * The client's id for rollouts: `clientId=`, else the X-User-Staging-Id header that electron-updater sends.
 * @throws AppError invalid_query if the header is too long
 */
export function resolveClientId(queried: string | undefined, stagingId: string | null): string | undefined {
  const clientId = queried ?? (stagingId || undefined);
  if (clientId === undefined || ClientId.safeParse(clientId).success) return clientId;
  throw new AppError("invalid_query", { detail: "X-User-Staging-Id must have at most 128 characters." });
}

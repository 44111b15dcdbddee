import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type OperatorAccess, readOperatorAccess } from "../../../lib/platform/files/operator-file";
import { type ApiResponse, clientOf, type HttpClient, type HttpRequest } from "./http-client";
import { encodedOperatorName } from "./operator-name";
import { sendOnThisMachine } from "./plain-http";

/** How long a command waits for a service that is starting or stopping, or for another command. */
const MAX_WAIT_MS = 60_000;
const POLL_MS = 200;

/**
 * The service of a data folder: the one that runs, through `operator.json`; if none does, its routes in this process, on the
 * embedded database. The file of a killed service is not used: another process may have its port. Without a folder, on
 * PostgreSQL, always in this process.
 */
export function runningOrInProcessService(
  dataDir: string | null,
  openInProcess: () => Promise<HttpClient>,
): HttpClient {
  const stale = new Set<string>();
  let local: HttpClient | null = null;
  const send = async (request: HttpRequest): Promise<ApiResponse> => {
    for (const deadlineMs = performance.now() + MAX_WAIT_MS; local === null; await delay(POLL_MS)) {
      const access = dataDir === null ? null : readOperatorAccess(dataDir);
      if (access && !stale.has(access.key)) {
        const response = await sendToRunningService(access, request);
        if (response) return response;
        stale.add(access.key);
      }
      try {
        local = await openInProcess();
        break;
      } catch (error) {
        if ((error as Error).name !== "DataDirInUseError" || performance.now() >= deadlineMs) throw error;
      }
    }
    return local.send(request);
  };
  return clientOf("The service", send);
}

/**
 * Sends a request to the service that wrote the file. Returns null if it no longer runs: nothing listens on its port, or
 * the listener does not speak HTTP, does not return the request id, or rejects the key.
 */
async function sendToRunningService({ url, key }: OperatorAccess, request: HttpRequest): Promise<ApiResponse | null> {
  const id = randomUUID();
  const own = { "x-request-id": id, "x-homeport-operator": encodedOperatorName(), authorization: `Bearer ${key}` };
  try {
    const response = await sendOnThisMachine(url, { ...request, headers: { ...own, ...request.headers } });
    return response.headers.get("x-request-id") === id && response.status !== 401 ? response : null;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ECONNREFUSED" || code.startsWith("HPE_")) return null; // HPE: the response is not HTTP
    throw error;
  }
}

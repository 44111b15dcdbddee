import { randomUUID } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { userInfo } from "node:os";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { type OperatorAccess, readOperatorAccess } from "../../../lib/platform/files/operator-file";
import { type ApiResponse, clientOf, type HttpClient, type HttpRequest } from "./http-client";

const TIMEOUT_MS = 300_000;

/**
 * Sends a request to a service on this machine. By node:http: to load what `fetch` needs takes as long as the rest of a short
 * command. Rejects if there is no response.
 */
function sendOnThisMachine(url: string, { method, path, headers, body }: HttpRequest): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    const options = { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const outgoing = httpRequest(`${url}${path}`, options, (incoming) => {
      buffer(incoming).then((bytes) => resolve(toResponse(incoming, bytes)), reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function toResponse({ statusCode: status = 0, headers }: IncomingMessage, bytes: Buffer): ApiResponse {
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name) => headers[name]?.toString() ?? null },
    body: null,
    text: async () => bytes.toString(),
    json: async () => JSON.parse(bytes.toString()),
  };
}

/** How long a command waits for a service that is starting or stopping, or for another command. */
const MAX_WAIT_MS = 60_000;
const POLL_MS = 200;

/**
 * The service of a data folder: the one that runs, through `operator.json`; if none does, its routes in this process, on the
 * embedded database. The file of a killed service is not used: another process may have its port. Without a folder, on
 * PostgreSQL, always in this process.
 */
export function runningOrInProcessService(dataDir: string | null, openInProcess: () => Promise<HttpClient>) {
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

/** Who runs the command, as the audit trail names them: the user who called sudo, or the process's user. */
export const encodedOperatorName = (): string => encodeURIComponent(process.env.SUDO_USER ?? userInfo().username);

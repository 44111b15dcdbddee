import { newKey } from "@/tests/support/auth/api-keys";

/** A response's JSON, and its status as `http`: messages have a status of their own. */
export async function answered<T>(response: Response | Promise<Response>): Promise<T & { http: number }> {
  const { status } = await response;
  return { ...((await (await response).json()) as T), http: status };
}

export const MESSAGES = "/api/admin/push/messages";

/** A key that may send messages. */
export const newSender = async () => (await newKey({ scopes: ["push:send"] })).key;

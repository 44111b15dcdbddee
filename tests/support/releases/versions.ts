import { get } from "@/tests/support/api";

type Body = Record<string, unknown> & { artifact: Record<string, unknown> };

export const WINDOWS = "platform=windows&product=core&architecture=x64";

/** The response of `/api/version`, with its status. */
export const getVersion = async (query: string) => {
  const response = await get(`/api/version?${query}`);
  const body: Body = { status: response.status, ...(await response.json()) };
  return body;
};

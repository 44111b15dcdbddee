import type { RequestHead, RouteResponse } from "../../http-message";
import type { DocumentContent, DownloadContent } from "../../response-content";
import { documentResponse } from "./document-response";
import { downloadResponse } from "./download-response";

/** Responds with a document or a download. @throws AppError precondition_failed, range_not_satisfiable */
export async function contentResponse(
  content: DocumentContent | DownloadContent,
  request: RequestHead,
): Promise<RouteResponse> {
  return "text" in content ? documentResponse(content, request) : downloadResponse(content, request);
}

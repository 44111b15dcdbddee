import {
  AuthorizationParameters,
  type AuthorizationRequest,
  authorizationPage,
  checkAuthorizationRequest,
} from "@/lib/auth/authorization-server/authorization-request";
import { pageContext } from "@/lib/auth/visitor";
import { isAppError } from "@/lib/errors";

/** The authorization request of a query; null if it is not valid. */
export function findRequest(parameters: AuthorizationParameters): AuthorizationRequest | null {
  try {
    return checkAuthorizationRequest(pageContext().config, parameters).request;
  } catch (error) {
    if (isAppError(error)) return null;
    throw error;
  }
}

/** The authorization request that a sign-in returns to; null if it returns to another page. */
export function findAuthorization(next: string): AuthorizationRequest | null {
  const { baseUrl } = pageContext().config;
  const { pathname, searchParams } = new URL(next, baseUrl);
  const parameters = AuthorizationParameters.safeParse(Object.fromEntries(searchParams)).data;
  const isOwn = parameters && pathname === new URL(authorizationPage(parameters), baseUrl).pathname;
  return isOwn ? findRequest(parameters) : null;
}

export { type Client, type ClientOptions, createClient, type RequestOptions } from "./http/client.js";
export { type ClientErrorCode, type FieldError, HomeportError, type ProblemCode } from "./http/problem.js";
export { type Method, type Path, type Result, request, type Schemas, type TypedOptions } from "./http/request.js";
export { memoryStore, type SessionStore } from "./http/session.js";
export { type OfflineEntitlements, type OfflineStore, openOfflineEntitlements } from "./offline.js";
export * from "./sign-in/account.js";
export { type DeviceCode, signInWithDeviceCode } from "./sign-in/device-code.js";
export {
  beginSignIn,
  completeSignIn,
  type IdTokenSignIn,
  type PendingSignIn,
  signInWithIdToken,
} from "./sign-in/oauth.js";
export * from "./subscription.js";
export * from "./updates.js";
export { onPush, type PushMessage } from "./web-push/message.js";
export * from "./web-push/registration.js";
export * from "./webhooks.js";

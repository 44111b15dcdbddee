// The browser's types, if the app's `lib` has them: a project on Node.js alone has none, and its compiler checks this package, too.

export type Registration = typeof globalThis extends { ServiceWorkerRegistration: { prototype: infer Type } }
  ? Type
  : object;

export type NotificationOptions = typeof globalThis extends {
  Notification: new (title: string, options?: infer Type) => unknown;
}
  ? NonNullable<Type>
  : object;

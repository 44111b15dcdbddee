/** Returns a function that creates the value of an object at its first use, and keeps it for as long as the object lives. */
export function perObject<Key extends object, Value extends object>(create: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return (key) => {
    const known = values.get(key);
    if (known) return known;
    const created = create(key);
    values.set(key, created);
    return created;
  };
}

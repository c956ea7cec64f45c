#include "arrow.h"

#include <stddef.h>

// Python's functions, by address: so this needs neither Python's headers nor a link to it.
static struct {
	int (*is_initialized)(void);
	int (*ensure)(void);
	void (*leave)(int);
	void (*decref)(void *);
	void *(*capsule_pointer)(void *, const char *);
} python;

void prlx_arrow_setup(const uint64_t *functions) {
	python.is_initialized = (int (*)(void))(uintptr_t)functions[0];
	python.ensure = (int (*)(void))(uintptr_t)functions[1];
	python.leave = (void (*)(int))(uintptr_t)functions[2];
	python.decref = (void (*)(void *))(uintptr_t)functions[3];
	python.capsule_pointer = (void *(*)(void *, const char *))(uintptr_t)functions[4];
}

// drop gives up the reference to what a struct owns. After the interpreter has ended there is nobody to give it back to.
static void drop(void *owned) {
	if (!python.is_initialized())
		return;
	int state = python.ensure();
	python.decref(owned);
	python.leave(state);
}

// A parent releases the children that nobody moved out; those that were moved have no release any more.

void prlx_release_schema(struct ArrowSchema *schema) {
	for (int64_t i = 0; i < schema->n_children; i++)
		if (schema->children[i]->release)
			schema->children[i]->release(schema->children[i]);
	if (schema->dictionary && schema->dictionary->release)
		schema->dictionary->release(schema->dictionary);
	schema->release = NULL;
	drop(schema->private_data);
}

void prlx_release_array(struct ArrowArray *array) {
	for (int64_t i = 0; i < array->n_children; i++)
		if (array->children[i]->release)
			array->children[i]->release(array->children[i]);
	if (array->dictionary && array->dictionary->release)
		array->dictionary->release(array->dictionary);
	array->release = NULL;
	drop(array->private_data);
}

void prlx_release_stream(struct ArrowArrayStream *stream) {
	stream->release = NULL;
	drop(stream->private_data);
}

// The destructor of a capsule. Its stream's struct belongs to an object of its own, which the struct's last field after those
// of the interface names: the stream may have been moved out and released long ago.
void prlx_release_capsule(void *capsule) {
	struct {
		struct ArrowArrayStream stream;
		void *owner;
	} *held = python.capsule_pointer(capsule, "arrow_array_stream");
	if (!held)
		return;
	void *owner = held->owner;
	if (held->stream.release)
		held->stream.release(&held->stream);
	drop(owner);
}

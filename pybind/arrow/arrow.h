#include <stdint.h>

// The structs of the C data interface, as arrow.apache.org/docs/format/CDataInterface.html defines them.

struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data; // here and below: an owned reference to a Python object that keeps alive whatever the struct names
};

struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

void prlx_arrow_setup(const uint64_t *python);
void prlx_release_schema(struct ArrowSchema *);
void prlx_release_array(struct ArrowArray *);
void prlx_release_stream(struct ArrowArrayStream *);
void prlx_release_capsule(void *capsule);

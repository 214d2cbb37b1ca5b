/* Stands in for NVIDIA's ptxas in a place of its own: whoever runs it sees that it is not ours. */
int main(void) { return 3; }
